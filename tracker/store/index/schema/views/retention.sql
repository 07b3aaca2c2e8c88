-- The core's definition of what is left above chance (core/evidence/retention.ts), which a test holds
-- it to. Figures of unequal protocols have no retention; what was timed in turn with the baseline is
-- compared with that one; a figure of an earlier version has the chance that its study's tasks name.
CREATE VIEW retention AS
WITH chances AS (
  SELECT study_id, task, chance FROM study_tasks WHERE chance IS NOT NULL
  UNION ALL
  -- The figure over all tasks is the mean of the primary ones by their weights; so is its chance.
  SELECT study_id, NULL, sum(weight * chance) / sum(weight) FROM study_tasks
  WHERE "primary" GROUP BY study_id HAVING count(*) = count(chance)
),
keys AS (
  SELECT study_id, trial_id, fidelity, task, protocol FROM protocols
  UNION ALL
  SELECT study_id, trial_id, fidelity, NULL, string_agg(protocol, ' ' ORDER BY task)
  FROM protocols GROUP BY study_id, trial_id, fidelity
),
bases AS MATERIALIZED (
  SELECT b.* FROM measurements b JOIN trials t USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
-- What was timed in turn with a trial, in its own minutes.
beside AS MATERIALIZED (
  SELECT study_id, trial_id, metric, runtime, last(value ORDER BY position, rowid) AS value,
    last(standard_error ORDER BY position, rowid) AS standard_error
  FROM measurements WHERE metric LIKE 'baseline_%'
  GROUP BY study_id, trial_id, metric, runtime
),
compared AS (
  SELECT m.* REPLACE (coalesce(turn.latency_ms, m.value) AS value),
    t.readable_id,
    CASE WHEN turn.latency_ms IS NULL THEN coalesce(beside.value, b.value)
      ELSE base.latency_ms END AS baseline,
    CASE WHEN beside.value IS NULL THEN b.standard_error ELSE beside.standard_error END
      AS baseline_standard_error,
    coalesce(b.chance, c.chance) AS guessing,
    -- 95 %; samples that all score alike: Wilson's bound of so many right answers, n / (n + z^2).
    CASE WHEN b.standard_error = 0 THEN b.value * b.n / (b.n + 1.959963984540054 ^ 2)
      ELSE b.value - 1.959963984540054 * b.standard_error END AS baseline_low
  FROM measurements m
  JOIN bases b ON b.study_id = m.study_id AND b.metric = m.metric AND b.fidelity = m.fidelity
    AND b.task IS NOT DISTINCT FROM m.task AND b.task_version IS NOT DISTINCT FROM m.task_version
    AND b.slice IS NOT DISTINCT FROM m.slice AND b.runtime IS NOT DISTINCT FROM m.runtime
  JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id AND t.strategy_id IS NOT NULL
  LEFT JOIN beside ON beside.study_id = m.study_id AND beside.trial_id = m.trial_id
    AND beside.metric = 'baseline_' || m.metric AND beside.runtime = m.runtime
  -- Latency as it is compared, where it is: the ratio, times one baseline of the study.
  LEFT JOIN compared_trials base ON base.study_id = b.study_id AND base.trial_id = b.trial_id
  LEFT JOIN (SELECT r.study_id, r.trial_id, r.latency_ms, s.runtime
    FROM compared_trials r JOIN studies s USING (study_id)) turn
    ON base.latency_ms > 0 AND turn.study_id = m.study_id AND turn.trial_id = m.trial_id AND turn.runtime = m.runtime
    AND m.metric = 'latency_ms' AND m.provenance = 'measured'
  LEFT JOIN chances c ON c.study_id = m.study_id AND c.task IS NOT DISTINCT FROM m.task
    AND m.metric = 'accuracy'
  LEFT JOIN keys own ON own.study_id = m.study_id AND own.trial_id = m.trial_id
    AND own.fidelity = m.fidelity AND own.task IS NOT DISTINCT FROM m.task
    AND (m.task IS NOT NULL OR m.metric IN ('accuracy', 'perplexity'))
  LEFT JOIN keys theirs ON theirs.study_id = b.study_id AND theirs.trial_id = b.trial_id
    AND theirs.fidelity = b.fidelity AND theirs.task IS NOT DISTINCT FROM b.task
  WHERE own.protocol IS NULL OR theirs.protocol IS NULL OR own.protocol = theirs.protocol
),
judged AS (
  SELECT *,
    CASE
      WHEN guessing IS NULL THEN CASE WHEN metric LIKE '%accuracy' THEN 'chance is not known' END
      WHEN baseline_standard_error IS NULL THEN 'the baseline has no standard error'
      WHEN baseline_low <= guessing THEN 'the baseline''s interval includes chance' END
      AS undefined_because
  FROM compared
)
SELECT study_id, trial_id, readable_id, metric, task, slice, fidelity, runtime, value, baseline,
  value / nullif(baseline, 0) AS ratio,
  -- On the metric's scale: a difference of perplexity is relative, as in paired_differences.
  CASE WHEN metric = 'perplexity' THEN value / nullif(baseline, 0) - 1
    WHEN direction = 'maximize' THEN baseline - value ELSE value - baseline END AS degradation,
  guessing AS chance,
  CASE WHEN undefined_because IS NULL THEN (value - guessing) / (baseline - guessing) END
    AS chance_corrected,
  undefined_because, standard_error, baseline_standard_error, n, unit
FROM judged;

COMMENT ON VIEW retention IS
  'Each figure beside the baseline''s under the same protocol, fidelity and runtime.';
