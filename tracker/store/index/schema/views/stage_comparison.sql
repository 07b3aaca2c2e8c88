-- What was measured after an action stands with the trial
-- that ended there: itself for the last, one that shares the prefix for those before, the one that was
-- evaluated furthest. Where none ended there, it stands with the trial's own evaluation in its midst.
CREATE VIEW stage_comparison AS
WITH done AS (
  SELECT a.study_id, a.trial_id, a.action_index, a.agent, a.method, a.artifact_id
  FROM actions a WHERE a.artifact_id IS NOT NULL
),
ends AS (
  SELECT t.study_id, t.trial_id, t.artifact_id
  FROM trials t
  LEFT JOIN (SELECT DISTINCT study_id, fidelity, height FROM rungs) r
    ON r.study_id = t.study_id AND r.fidelity = t.fidelity
  WHERE t.artifact_id IS NOT NULL AND t.state IN ('completed', 'stopped')
  QUALIFY row_number() OVER (
    PARTITION BY t.study_id, t.artifact_id
    ORDER BY t.fidelity = 'full' DESC NULLS LAST, r.height DESC NULLS LAST, t.number
  ) = 1
),
placed AS (
  SELECT s.*,
    CASE WHEN t.artifact_id = s.artifact_id AND t.state IN ('completed', 'stopped')
      THEN s.trial_id ELSE e.trial_id END AS measured_in
  FROM done s
  JOIN trials t ON t.study_id = s.study_id AND t.trial_id = s.trial_id
  LEFT JOIN ends e ON e.study_id = s.study_id AND e.artifact_id = s.artifact_id
),
midway AS (
  SELECT study_id, trial_id, action_index, arg_max(fidelity, position) AS fidelity,
    arg_max(value, position) FILTER (metric = 'accuracy') AS accuracy,
    arg_max(value, position) FILTER (metric = 'perplexity') AS perplexity
  FROM action_measurements WHERE task IS NULL AND slice IS NULL
  GROUP BY ALL
),
found AS (
  SELECT p.* REPLACE (coalesce(p.measured_in, w.trial_id) AS measured_in),
    coalesce(m.fidelity, w.fidelity) AS fidelity,
    CASE WHEN p.measured_in IS NULL THEN w.accuracy ELSE f.accuracy END AS accuracy,
    CASE WHEN p.measured_in IS NULL THEN w.perplexity ELSE f.perplexity END AS perplexity,
    c.latency_ms, c.latency_ratio, f.memory_bytes
  FROM placed p
  LEFT JOIN trials m ON m.study_id = p.study_id AND m.trial_id = p.measured_in
  LEFT JOIN trial_figures f ON f.study_id = p.study_id AND f.trial_id = p.measured_in
  LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.measured_in
  LEFT JOIN midway w
    ON w.study_id = p.study_id AND w.trial_id = p.trial_id AND w.action_index = p.action_index
),
bases AS (
  SELECT t.study_id, t.trial_id, t.fidelity, f.accuracy, f.perplexity, c.latency_ms,
    c.latency_ratio, f.memory_bytes
  FROM trials t JOIN trial_figures f USING (study_id, trial_id)
  LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
rows AS (
  SELECT study_id, trial_id, action_index, agent, method, artifact_id, measured_in, fidelity, accuracy,
    perplexity, latency_ms, latency_ratio, memory_bytes, NULL::BIGINT AS size_bytes
  FROM found
  UNION ALL
  SELECT t.study_id, t.trial_id, -1, NULL, 'baseline', NULL, b.trial_id, b.fidelity, b.accuracy,
    b.perplexity, b.latency_ms, b.latency_ratio, b.memory_bytes, s.fp16_bytes
  FROM (SELECT DISTINCT study_id, trial_id FROM done) t
  JOIN studies s USING (study_id)
  LEFT JOIN bases b ON b.study_id = t.study_id
),
-- An action that went on to the full evaluation was on the rungs below it too: its gain is told on the
-- highest rung that it shares with the action before.
reached AS (
  SELECT study_id, trial_id, fidelity, last(value ORDER BY position, rowid) AS accuracy
  FROM measurements WHERE metric = 'accuracy' AND task IS NULL AND slice IS NULL GROUP BY ALL
),
scored AS (
  SELECT p.study_id, p.trial_id, p.action_index, m.fidelity, m.accuracy
  FROM placed p JOIN reached m ON m.study_id = p.study_id AND m.trial_id = p.measured_in
  UNION ALL
  SELECT study_id, trial_id, action_index, fidelity, last(value ORDER BY position)
  FROM action_measurements WHERE metric = 'accuracy' AND task IS NULL AND slice IS NULL
  GROUP BY ALL
  UNION ALL
  SELECT t.study_id, t.trial_id, -1, q.fidelity, q.accuracy
  FROM (SELECT DISTINCT study_id, trial_id FROM done) t JOIN baselines q USING (study_id)
),
gains AS (
  SELECT a.study_id, a.trial_id, a.action_index, a.fidelity AS gain_fidelity,
    a.accuracy - b.accuracy AS accuracy_gain
  FROM scored a
  JOIN scored b ON b.study_id = a.study_id AND b.trial_id = a.trial_id
    AND b.fidelity = a.fidelity AND b.action_index = a.action_index - 1
  LEFT JOIN (SELECT DISTINCT study_id, fidelity, height FROM rungs) r
    ON r.study_id = a.study_id AND r.fidelity = a.fidelity
  QUALIFY row_number() OVER (
    PARTITION BY a.study_id, a.trial_id, a.action_index
    ORDER BY a.fidelity = 'full' DESC, r.height DESC NULLS LAST
  ) = 1
),
sized AS (
  SELECT r.* EXCLUDE (size_bytes), coalesce(r.size_bytes, a.size_bytes) AS size_bytes
  FROM rows r LEFT JOIN artifacts a ON a.artifact_id = r.artifact_id
),
took AS (
  SELECT study_id, trial_id, action_index, sum(seconds) AS seconds
  FROM spans WHERE action_index IS NOT NULL GROUP BY ALL
),
joules AS (
  -- An artifact that was found in the cache cost what it cost when it was made.
  SELECT artifact_id, max(value) AS energy_j,
    any_value(CASE metric WHEN 'energy_j' THEN 'measured' ELSE 'estimated' END) AS energy_provenance
  FROM layer_sensitivities WHERE layer IS NULL AND metric IN ('energy_j', 'estimated_energy_j')
  GROUP BY ALL
)
SELECT r.study_id, r.trial_id, t.readable_id, r.action_index, r.agent, r.method, r.artifact_id,
  r.measured_in, r.fidelity, r.accuracy,
  r.accuracy / nullif(q.accuracy, 0) AS accuracy_retention,
  g.accuracy_gain, g.gain_fidelity,
  r.perplexity, r.latency_ms, 1 / r.latency_ratio AS speedup, r.memory_bytes, r.size_bytes,
  lag(r.size_bytes) OVER chain / r.size_bytes AS action_ratio,
  s.fp16_bytes / r.size_bytes AS cumulative_ratio,
  k.seconds, j.energy_j, j.energy_provenance
FROM sized r
JOIN trials t ON t.study_id = r.study_id AND t.trial_id = r.trial_id
JOIN studies s ON s.study_id = r.study_id
LEFT JOIN baselines q ON q.study_id = r.study_id AND q.fidelity = r.fidelity
LEFT JOIN gains g ON g.study_id = r.study_id AND g.trial_id = r.trial_id AND g.action_index = r.action_index
LEFT JOIN took k ON k.study_id = r.study_id AND k.trial_id = r.trial_id AND k.action_index = r.action_index
LEFT JOIN joules j ON j.artifact_id = r.artifact_id
WINDOW chain AS (PARTITION BY r.study_id, r.trial_id ORDER BY r.action_index);

COMMENT ON VIEW stage_comparison IS
  'Each trial''s chain of actions, with what was measured after each: stage 0 is the baseline.';
