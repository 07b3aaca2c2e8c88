-- A mix tells these figures of every layer that it has rounded, and names its scorer by the third.
CREATE VIEW layer_mix AS
WITH chosen AS (
  SELECT study_id, trial_id, artifact_id, layer_index, layer,
    max(value) FILTER (metric = 'stored_bits') AS stored,
    max(value) FILTER (metric = 'weight_bits') AS weight_bits,
    any_value(metric) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS scorer,
    max(value) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS value,
    any_value(unit) FILTER (metric IN ('kl', 'fisher', 'reconstruction')) AS unit
  FROM artifact_figures WHERE layer IS NOT NULL GROUP BY ALL
)
SELECT study_id, trial_id, artifact_id, layer_index, layer, stored::BIGINT || '-bit' AS format,
  weight_bits, scorer, value, unit
FROM chosen WHERE stored IS NOT NULL;

COMMENT ON VIEW layer_mix IS
  'Which format each layer of a mix was given: one row per trial and layer.';
COMMENT ON COLUMN layer_mix.study_id IS 'the study it belongs to';
COMMENT ON COLUMN layer_mix.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN layer_mix.artifact_id IS 'the model that the mix is of';
COMMENT ON COLUMN layer_mix.layer_index IS 'in the order of the model, from 0';
COMMENT ON COLUMN layer_mix.layer IS 'module''s name';
COMMENT ON COLUMN layer_mix.format IS 'such as 4-bit';
COMMENT ON COLUMN layer_mix.weight_bits IS 'bits per weight, with scales and zero points';
COMMENT ON COLUMN layer_mix.scorer IS 'by what the mix was chosen: kl, fisher or reconstruction';
COMMENT ON COLUMN layer_mix.value IS
  'what this format costs the layer, alone in it, by the scorer, in the unit beside it';
COMMENT ON COLUMN layer_mix.unit IS '1 where it has none';
