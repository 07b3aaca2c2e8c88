-- What knob_pairs has, added up over the pairs of a knob.
CREATE VIEW knob_importance AS
WITH counted AS (
  SELECT study_id, agent, method, knob, metric, fidelity, count(*) AS pairs,
    coalesce(arg_min(from_value, from_number), min(from_value)) AS from_value,
    coalesce(arg_max(to_value, to_number), max(to_value)) AS to_value,
    avg(abs(effect)) AS importance, stddev_samp(abs(effect)) / sqrt(count(*)) AS importance_error,
    avg(effect) AS effect, stddev_samp(effect) / sqrt(count(*)) AS effect_error,
    any_value(unit) AS unit, any_value(direction) AS direction, count(*) - 1 AS freedom
  FROM knob_pairs
  GROUP BY study_id, agent, method, knob, metric, fidelity
),
widths AS (
  -- The 97.5 % point of Student's t: exact for 1 and 2 degrees of freedom, above them by Cornish and
  -- Fisher's expansion, which is within 1 % (Abramowitz and Stegun, 26.7.5).
  SELECT *, CASE freedom WHEN 0 THEN NULL WHEN 1 THEN 12.7062 WHEN 2 THEN 4.3027
    ELSE 1.95996 + 2.37227 / freedom + 2.82250 / freedom ^ 2 + 2.55585 / freedom ^ 3 END AS t
  FROM counted
)
SELECT study_id, agent, method, knob, from_value, to_value, metric, fidelity, pairs,
  importance, greatest(0, importance - t * importance_error) AS importance_low,
  importance + t * importance_error AS importance_high,
  effect, effect - t * effect_error AS effect_low, effect + t * effect_error AS effect_high,
  unit, direction
FROM widths;

COMMENT ON VIEW knob_importance IS
  'What a knob does to a figure while every other knob is held: over pairs of trials of one study that differ in this knob alone.';
