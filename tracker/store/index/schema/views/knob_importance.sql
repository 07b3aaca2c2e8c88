-- Two trials of a study tell of a knob where their actions and every other knob are the same.
CREATE VIEW knob_importance AS
WITH named AS (
  SELECT k.study_id, k.trial_id, k.action_index, a.agent, a.method, k.knob, k.value, k.number
  FROM knobs k
  JOIN actions a USING (study_id, trial_id, action_index)
  JOIN trials t USING (study_id, trial_id)
  WHERE t.state IN ('completed', 'stopped')
),
recipes AS (
  SELECT study_id, trial_id, list(agent || '/' || method ORDER BY action_index) AS actions
  FROM actions GROUP BY study_id, trial_id
),
wholes AS (
  SELECT study_id, trial_id,
    list({'i': action_index, 'knob': knob, 'value': value} ORDER BY action_index, knob) AS settings
  FROM named GROUP BY study_id, trial_id
),
held AS (
  SELECT n.*, hash(r.actions,
    list_filter(w.settings, lambda x: NOT (x.i = n.action_index AND x.knob = n.knob))) AS others
  FROM named n
  JOIN wholes w ON w.study_id = n.study_id AND w.trial_id = n.trial_id
  JOIN recipes r ON r.study_id = n.study_id AND r.trial_id = n.trial_id
),
figures AS (
  SELECT study_id, trial_id, metric, value, unit, direction, fidelity FROM headline
  WHERE metric IN ('accuracy', 'perplexity', 'size_bytes', 'memory_bytes',
    'energy_j_per_1k_tokens')
  UNION ALL
  -- As they are compared; timed at any fidelity, they count as full, as they are measured.
  SELECT study_id, trial_id, 'latency_ratio', latency_ratio, '1', 'minimize', 'full'
  FROM compared_trials WHERE latency_ratio IS NOT NULL
),
differences AS (
  SELECT a.study_id, a.agent, a.method, a.knob, f.metric, f.fidelity, g.value - f.value AS effect,
    f.unit, f.direction
  FROM held a
  JOIN held b ON b.study_id = a.study_id AND b.others = a.others
    AND b.action_index = a.action_index AND b.knob = a.knob
    AND CASE WHEN a.number IS NOT NULL AND b.number IS NOT NULL THEN a.number < b.number
      ELSE a.value < b.value END
  JOIN figures f ON f.study_id = a.study_id AND f.trial_id = a.trial_id
  JOIN figures g ON g.study_id = b.study_id AND g.trial_id = b.trial_id AND g.metric = f.metric
    AND g.fidelity = f.fidelity
  -- DuckDB refuses the deviation of what is no number.
  WHERE isfinite(g.value - f.value)
),
counted AS (
  SELECT study_id, agent, method, knob, metric, fidelity, count(*) AS pairs,
    avg(abs(effect)) AS importance, stddev_samp(abs(effect)) / sqrt(count(*)) AS importance_error,
    avg(effect) AS effect, stddev_samp(effect) / sqrt(count(*)) AS effect_error,
    any_value(unit) AS unit, any_value(direction) AS direction, count(*) - 1 AS freedom
  FROM differences GROUP BY ALL
),
widths AS (
  -- The 97.5 % point of Student's t: exact for 1 and 2 degrees of freedom, above them by Cornish and
  -- Fisher's expansion, which is within 1 % (Abramowitz and Stegun, 26.7.5).
  SELECT *, CASE freedom WHEN 0 THEN NULL WHEN 1 THEN 12.7062 WHEN 2 THEN 4.3027
    ELSE 1.95996 + 2.37227 / freedom + 2.82250 / freedom ^ 2 + 2.55585 / freedom ^ 3 END AS t
  FROM counted
)
SELECT study_id, agent, method, knob, metric, fidelity, pairs,
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
