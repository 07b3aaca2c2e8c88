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
