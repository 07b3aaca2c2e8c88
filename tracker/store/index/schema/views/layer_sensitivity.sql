CREATE VIEW layer_sensitivity AS
SELECT l.study_id, s.model_name, l.artifact_id, l.layer_index, l.layer, l.part, l.format,
  l.weight_bits, l.size_bytes, l.scorer, l.value, l.standard_error, l.unit, l.n,
  rank() OVER (PARTITION BY l.study_id, l.artifact_id, l.format, l.scorer ORDER BY l.value DESC)
    AS rank,
  l.shares_input, l.seed, l.program
FROM layer_scores l LEFT JOIN studies s USING (study_id);

COMMENT ON VIEW layer_sensitivity IS
  'What a format would cost each layer of a study''s model, the layer alone in it and all else as it was: a row per layer, format and scorer.';
