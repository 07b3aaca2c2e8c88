CREATE VIEW layer_sensitivity AS
SELECT l.study_id, s.model_name, l.artifact_id, l.layer_index, l.layer, l.part, l.format,
  l.weight_bits, l.size_bytes, l.scorer, l.value, l.standard_error, l.unit, l.n,
  rank() OVER (PARTITION BY l.study_id, l.artifact_id, l.format, l.scorer ORDER BY l.value DESC)
    AS rank,
  l.shares_input, l.seed, l.program
FROM layer_scores l LEFT JOIN studies s USING (study_id);

COMMENT ON VIEW layer_sensitivity IS
  'What a format would cost each layer of a study''s model, the layer alone in it and all else as it was: a row per layer, format and scorer.';
COMMENT ON COLUMN layer_sensitivity.study_id IS 'the study that asked';
COMMENT ON COLUMN layer_sensitivity.model_name IS 'as the study''s request names it; NULL: the study has not run yet';
COMMENT ON COLUMN layer_sensitivity.artifact_id IS 'whose layers they are: the study''s original';
COMMENT ON COLUMN layer_sensitivity.layer_index IS 'in the order of the model, from 0';
COMMENT ON COLUMN layer_sensitivity.layer IS 'module''s name';
COMMENT ON COLUMN layer_sensitivity.part IS 'linear, embedding or head';
COMMENT ON COLUMN layer_sensitivity.format IS
  'such as 4-bit-g64, rounded to nearest; int8 rounds the layer''s inputs, too';
COMMENT ON COLUMN layer_sensitivity.weight_bits IS 'bits per weight in this format, with scales and zero points';
COMMENT ON COLUMN layer_sensitivity.size_bytes IS 'of the layer in this format';
COMMENT ON COLUMN layer_sensitivity.scorer IS
  'kl: how far the next-word distribution moves; fisher: its second-order estimate; reconstruction: squared error of the layer''s outputs over their square; imported: auto_scheme, auto_quantize, auto_quantize_kl';
COMMENT ON COLUMN layer_sensitivity.value IS 'in the unit beside it; more is worse';
COMMENT ON COLUMN layer_sensitivity.standard_error IS 'over tokens; NULL: the scorer has none';
COMMENT ON COLUMN layer_sensitivity.unit IS
  '1 where it has none; of an imported group of layers the others, in the same format, of which this score is too';
COMMENT ON COLUMN layer_sensitivity.n IS 'tokens of calibration text; NULL: the imported file does not say';
COMMENT ON COLUMN layer_sensitivity.rank IS 'among the layers in this format, by this scorer; 1 loses most';
COMMENT ON COLUMN layer_sensitivity.shares_input IS
  'layer_index of the first layer that is given the same input, as K is what Q is; NULL: not known';
COMMENT ON COLUMN layer_sensitivity.seed IS 'of the drawn words that fisher goes by; NULL: imported';
COMMENT ON COLUMN layer_sensitivity.program IS
  'pare, or the program that the scores were imported from, such as AutoRound AutoScheme';
