-- A mix tells stored_bits of every layer that it has rounded, a composition of codecs a figure in bits
-- per weight by its code's name; both name their scorer by another. Each metric counts its layers from
-- 0, so that a code's own figure has not the layer's place.
CREATE VIEW layer_mix AS
WITH chosen AS (
  SELECT study_id, trial_id, artifact_id, layer,
    max(layer_index) FILTER (metric IN ('stored_bits', 'kl', 'fisher', 'reconstruction'))
      AS layer_index,
    max(value) FILTER (metric = 'stored_bits') AS stored,
    any_value(metric) FILTER (unit = 'bits per weight' AND metric <> 'weight_bits') AS code,
    max(value) FILTER (metric = 'weight_bits' OR unit = 'bits per weight') AS weight_bits,
    any_value(metric) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS scorer,
    max(value) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS value,
    any_value(unit) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS unit
  FROM artifact_figures WHERE layer IS NOT NULL GROUP BY ALL
)
SELECT study_id, trial_id, artifact_id, layer_index, layer,
  coalesce(stored::BIGINT || '-bit', code) AS format, weight_bits, scorer, value, unit
FROM chosen WHERE stored IS NOT NULL OR code IS NOT NULL;

COMMENT ON VIEW layer_mix IS
  'Which format each layer of a mix, or which code each of a composition, was given: one row per trial and layer.';
COMMENT ON COLUMN layer_mix.study_id IS 'the study it belongs to';
COMMENT ON COLUMN layer_mix.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN layer_mix.artifact_id IS 'the model that the mix is of';
COMMENT ON COLUMN layer_mix.layer_index IS 'in the order of the model, from 0';
COMMENT ON COLUMN layer_mix.layer IS 'module''s name';
COMMENT ON COLUMN layer_mix.format IS
  'such as 4-bit; of a composition the codec with its numbers, such as seedlm_12_8_3';
COMMENT ON COLUMN layer_mix.weight_bits IS 'bits per weight, with scales and zero points';
COMMENT ON COLUMN layer_mix.scorer IS 'by what the mix was chosen: kl, fisher or reconstruction';
COMMENT ON COLUMN layer_mix.value IS
  'what this format costs the layer, alone in it, by the scorer, in the unit beside it';
COMMENT ON COLUMN layer_mix.unit IS '1 where it has none';
