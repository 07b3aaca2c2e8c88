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
COMMENT ON COLUMN knob_importance.study_id IS 'the study it belongs to';
COMMENT ON COLUMN knob_importance.agent IS 'such as quantization';
COMMENT ON COLUMN knob_importance.method IS 'of the action that has the knob';
COMMENT ON COLUMN knob_importance.knob IS 'name of the knob';
COMMENT ON COLUMN knob_importance.from_value IS
  'smallest value of the knob in its pairs (texts: first in the alphabet); knob_pairs has every step';
COMMENT ON COLUMN knob_importance.to_value IS 'largest value of the knob in its pairs';
COMMENT ON COLUMN knob_importance.metric IS
  'accuracy, perplexity, latency_ratio, size_bytes, memory_bytes or energy_j_per_1k_tokens';
COMMENT ON COLUMN knob_importance.fidelity IS
  'rung that both trials of a pair were measured on; rungs are never mixed';
COMMENT ON COLUMN knob_importance.pairs IS 'pairs of trials that differ in this knob alone';
COMMENT ON COLUMN knob_importance.importance IS
  'mean absolute difference of the figure over the pairs, in unit';
COMMENT ON COLUMN knob_importance.importance_low IS
  'lower end of its 95 % interval by Student''s t, 0 at least; NULL: one pair. A trial may be in several pairs, so that it is too narrow rather than too wide';
COMMENT ON COLUMN knob_importance.importance_high IS 'upper end of its 95 % interval; NULL: one pair';
COMMENT ON COLUMN knob_importance.effect IS
  'mean difference, the larger value of the knob less the smaller one (texts: later in the alphabet)';
COMMENT ON COLUMN knob_importance.effect_low IS 'lower end of its 95 % interval; NULL: one pair';
COMMENT ON COLUMN knob_importance.effect_high IS 'upper end of its 95 % interval; NULL: one pair';
COMMENT ON COLUMN knob_importance.unit IS 'of the figure';
COMMENT ON COLUMN knob_importance.direction IS 'whether the figure is better when larger or smaller';
