-- Two trials of a study tell of a knob where their actions and every other knob are the same.
CREATE VIEW knob_pairs AS
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
)
SELECT a.study_id, a.agent, a.method, a.knob, a.value AS from_value, b.value AS to_value,
  a.number AS from_number, b.number AS to_number, a.trial_id AS from_trial, b.trial_id AS to_trial,
  f.metric, f.fidelity, g.value - f.value AS effect, f.unit, f.direction
FROM held a
JOIN held b ON b.study_id = a.study_id AND b.others = a.others
  AND b.action_index = a.action_index AND b.knob = a.knob
  AND CASE WHEN a.number IS NOT NULL AND b.number IS NOT NULL THEN a.number < b.number
    ELSE a.value < b.value END
JOIN figures f ON f.study_id = a.study_id AND f.trial_id = a.trial_id
JOIN figures g ON g.study_id = b.study_id AND g.trial_id = b.trial_id AND g.metric = f.metric
  AND g.fidelity = f.fidelity
-- DuckDB refuses the deviation of what is no number.
WHERE isfinite(g.value - f.value);

COMMENT ON VIEW knob_pairs IS
  'Two trials of one study that differ in one knob alone, and what a figure did from one value to the other; knob_importance adds them up.';
