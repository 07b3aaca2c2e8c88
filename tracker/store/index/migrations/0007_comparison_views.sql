-- Named answers that compare: with the baseline, stage by stage, knob by knob, and at what cost.

CREATE OR REPLACE VIEW retention AS
WITH chances AS (
  SELECT study_id, task, chance FROM study_tasks WHERE chance IS NOT NULL
  UNION ALL
  -- The figure over all tasks is the unweighted mean of the primary ones; so is its chance.
  SELECT study_id, NULL, avg(chance) FROM study_tasks
  WHERE "primary" GROUP BY study_id HAVING count(*) = count(chance)
),
bases AS MATERIALIZED (
  SELECT b.* FROM measurements b JOIN trials t USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
)
SELECT m.study_id, m.trial_id, t.readable_id, m.metric, m.task, m.slice, m.fidelity, m.runtime,
  m.value, b.value AS baseline,
  m.value / b.value AS ratio,
  CASE m.direction WHEN 'maximize' THEN b.value - m.value ELSE m.value - b.value END AS degradation,
  c.chance,
  (m.value - c.chance) / nullif(b.value - c.chance, 0) AS chance_corrected,
  m.standard_error, b.standard_error AS baseline_standard_error, m.n, m.unit
FROM measurements m
JOIN bases b ON b.study_id = m.study_id AND b.metric = m.metric AND b.fidelity = m.fidelity
  AND b.task IS NOT DISTINCT FROM m.task AND b.task_version IS NOT DISTINCT FROM m.task_version
  AND b.slice IS NOT DISTINCT FROM m.slice AND b.runtime IS NOT DISTINCT FROM m.runtime
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id AND t.strategy_id IS NOT NULL
LEFT JOIN chances c ON c.study_id = m.study_id AND c.task IS NOT DISTINCT FROM m.task
  AND m.metric = 'accuracy';

-- A chain's stages are its actions in order. What was measured after a stage stands with the trial
-- that ended there: itself for the last, one that shares the prefix for those before.
CREATE OR REPLACE VIEW stage_comparison AS
WITH stages AS (
  SELECT a.study_id, a.trial_id, a.action_index + 1 AS stage, a.agent, a.method, a.artifact_id
  FROM actions a WHERE a.artifact_id IS NOT NULL
),
ends AS (
  SELECT study_id, trial_id, artifact_id FROM trials
  WHERE artifact_id IS NOT NULL AND state IN ('completed', 'stopped')
  QUALIFY row_number() OVER (
    PARTITION BY study_id, artifact_id ORDER BY fidelity = 'full' DESC NULLS LAST, number
  ) = 1
),
placed AS (
  SELECT s.*,
    CASE WHEN t.artifact_id = s.artifact_id AND t.state IN ('completed', 'stopped')
      THEN s.trial_id ELSE e.trial_id END AS measured_in
  FROM stages s
  JOIN trials t ON t.study_id = s.study_id AND t.trial_id = s.trial_id
  LEFT JOIN ends e ON e.study_id = s.study_id AND e.artifact_id = s.artifact_id
),
found AS (
  SELECT p.*, m.fidelity, f.accuracy, f.perplexity, f.latency_ms, f.memory_bytes
  FROM placed p
  LEFT JOIN trials m ON m.study_id = p.study_id AND m.trial_id = p.measured_in
  LEFT JOIN trial_figures f ON f.study_id = p.study_id AND f.trial_id = p.measured_in
),
bases AS (
  SELECT t.study_id, t.trial_id, t.fidelity, f.accuracy, f.perplexity, f.latency_ms, f.memory_bytes
  FROM trials t JOIN trial_figures f USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
rows AS (
  SELECT study_id, trial_id, stage, agent, method, artifact_id, measured_in, fidelity, accuracy,
    perplexity, latency_ms, memory_bytes, NULL::BIGINT AS size_bytes
  FROM found
  UNION ALL
  SELECT t.study_id, t.trial_id, 0, NULL, 'baseline', NULL, b.trial_id, b.fidelity, b.accuracy,
    b.perplexity, b.latency_ms, b.memory_bytes, s.fp16_bytes
  FROM (SELECT DISTINCT study_id, trial_id FROM stages) t
  JOIN studies s USING (study_id)
  LEFT JOIN bases b ON b.study_id = t.study_id
),
sized AS (
  SELECT r.* EXCLUDE (size_bytes), coalesce(r.size_bytes, a.size_bytes) AS size_bytes
  FROM rows r LEFT JOIN artifacts a ON a.artifact_id = r.artifact_id
)
SELECT r.study_id, r.trial_id, t.readable_id, r.stage, r.agent, r.method, r.artifact_id,
  r.measured_in, r.fidelity, r.accuracy,
  r.accuracy / nullif(q.accuracy, 0) AS accuracy_retention,
  r.perplexity, r.latency_ms, b.latency_ms / r.latency_ms AS speedup, r.memory_bytes, r.size_bytes,
  lag(r.size_bytes) OVER chain / r.size_bytes AS stage_ratio,
  s.fp16_bytes / r.size_bytes AS cumulative_ratio
FROM sized r
JOIN trials t ON t.study_id = r.study_id AND t.trial_id = r.trial_id
JOIN studies s ON s.study_id = r.study_id
LEFT JOIN bases b ON b.study_id = r.study_id
LEFT JOIN baselines q ON q.study_id = r.study_id AND q.fidelity = r.fidelity
WINDOW chain AS (PARTITION BY r.study_id, r.trial_id ORDER BY r.stage);

CREATE OR REPLACE VIEW knob_effects AS
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
  WHERE metric IN ('accuracy', 'perplexity', 'latency_ms', 'size_bytes', 'memory_bytes',
    'energy_j_per_1k_tokens')
  UNION ALL
  SELECT study_id, trial_id, 'reward', reward, '1', 'maximize', fidelity FROM trials
  WHERE reward IS NOT NULL
)
SELECT u.study_id, u.agent, u.method, u.knob, u.knob_value,
  any_value(u.knob_number) AS knob_number, f.metric, f.fidelity, count(*) AS n,
  avg(f.value) AS mean, median(f.value) AS median, min(f.value) AS minimum,
  max(f.value) AS maximum, any_value(f.unit) AS unit, any_value(f.direction) AS direction
FROM used u JOIN figures f USING (study_id, trial_id)
GROUP BY u.study_id, u.agent, u.method, u.knob, u.knob_value, f.metric, f.fidelity;

-- Minutes and joules are sums over the stages of a trial; NULL where nobody measured them.
CREATE OR REPLACE VIEW cost AS
WITH by_stage AS (
  SELECT study_id, trial_id, stage, max(seconds) AS seconds,
    avg(cpu_utilisation) AS cores, avg(power_watts) AS watts
  FROM resources GROUP BY study_id, trial_id, stage
),
used AS (
  SELECT study_id, trial_id, sum(cores * seconds) / 60 AS cpu_minutes,
    sum(watts * seconds) AS joules
  FROM by_stage GROUP BY study_id, trial_id
),
worked AS (
  SELECT study_id, trial_id, sum(seconds) FILTER (name <> 'loop') / 60 AS minutes
  FROM spans GROUP BY study_id, trial_id
),
trial_cost AS (
  SELECT t.study_id, t.trial_id, w.minutes,
    CASE s.device WHEN 'cuda' THEN w.minutes END AS gpu_minutes, u.cpu_minutes, u.joules
  FROM trials t JOIN studies s USING (study_id)
  LEFT JOIN worked w ON w.study_id = t.study_id AND w.trial_id = t.trial_id
  LEFT JOIN used u ON u.study_id = t.study_id AND u.trial_id = t.trial_id
),
totals AS (
  SELECT study_id, sum(minutes) AS minutes, sum(gpu_minutes) AS gpu_minutes,
    sum(cpu_minutes) AS cpu_minutes, sum(joules) AS joules, count(*) AS trials
  FROM trial_cost GROUP BY study_id
),
members AS (
  SELECT p.study_id, p.trial_id, count(*) OVER (PARTITION BY p.study_id) AS front_size
  FROM front_points p JOIN trials t USING (study_id, trial_id)
  WHERE p.rank = 0 AND t.strategy_id IS NOT NULL
)
SELECT m.study_id, m.trial_id, t.readable_id, c.minutes, c.gpu_minutes, c.cpu_minutes, c.joules,
  m.front_size, s.trials AS study_trials,
  s.minutes / m.front_size AS study_minutes_per_point,
  s.gpu_minutes / m.front_size AS study_gpu_minutes_per_point,
  s.cpu_minutes / m.front_size AS study_cpu_minutes_per_point,
  s.joules / m.front_size AS study_joules_per_point
FROM members m
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id
JOIN trial_cost c ON c.study_id = m.study_id AND c.trial_id = m.trial_id
JOIN totals s ON s.study_id = m.study_id;
