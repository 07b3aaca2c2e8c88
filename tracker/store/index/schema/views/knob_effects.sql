CREATE VIEW knob_effects AS
WITH used AS (
  -- A trial counts once, also where two of its actions have the knob at the same value.
  SELECT DISTINCT k.study_id, k.trial_id, a.agent, a.method, k.knob, k.value AS knob_value,
    k.number AS knob_number
  FROM knobs k
  JOIN actions a USING (study_id, trial_id, action_index)
  JOIN trials t USING (study_id, trial_id)
  WHERE t.state IN ('completed', 'stopped')
),
figures AS (
  SELECT study_id, trial_id, metric, value, unit, direction, fidelity FROM headline
  WHERE metric IN ('accuracy', 'perplexity', 'size_bytes', 'memory_bytes',
    'energy_j_per_1k_tokens')
  UNION ALL
  -- As they are compared; timed at any fidelity, they count as full, as they are measured.
  SELECT study_id, trial_id, 'latency_ms', latency_ms, 'ms/token', 'minimize', 'full'
  FROM compared_trials WHERE latency_ms IS NOT NULL
  UNION ALL
  SELECT study_id, trial_id, 'latency_ratio', latency_ratio, '1', 'minimize', 'full'
  FROM compared_trials WHERE latency_ratio IS NOT NULL
  UNION ALL
  SELECT study_id, trial_id, 'reward', c.reward, '1', 'maximize', t.fidelity
  FROM compared_trials c JOIN trials t USING (study_id, trial_id) WHERE c.reward IS NOT NULL
)
SELECT u.study_id, u.agent, u.method, u.knob, u.knob_value,
  any_value(u.knob_number) AS knob_number, f.metric, f.fidelity, count(*) AS n,
  avg(f.value) AS mean, median(f.value) AS median, min(f.value) AS minimum,
  max(f.value) AS maximum, any_value(f.unit) AS unit, any_value(f.direction) AS direction
FROM used u JOIN figures f USING (study_id, trial_id)
GROUP BY u.study_id, u.agent, u.method, u.knob, u.knob_value, f.metric, f.fidelity;

COMMENT ON VIEW knob_effects IS
  'Main figures of the trials that had a knob at a value: an association, not a cause.';
