-- Named answers to the usual questions. `SELECT column_name, comment FROM duckdb_columns()
-- WHERE table_name = 'leaderboard'` prints what a column means.

-- One figure a trial and metric: full before proxy, measured before estimated, over all tasks
-- before one task; speed, memory and energy in the study's own runtime only.
CREATE VIEW headline AS
SELECT m.*
FROM measurements m JOIN studies s USING (study_id)
WHERE m.slice IS NULL
  AND (m.runtime IS NULL OR m.metric IN ('accuracy', 'perplexity') OR m.runtime = s.runtime)
QUALIFY row_number() OVER (
  PARTITION BY m.study_id, m.trial_id, m.metric
  ORDER BY m.fidelity = 'full' DESC, m.provenance = 'measured' DESC, m.task IS NULL DESC,
    m.position DESC, m.task, m.value
) = 1;
COMMENT ON VIEW headline IS 'One figure a trial and metric: the one that a comparison uses.';

-- Trials that may stand on a front: measured in full, every objective a number and really
-- measured, memory not over its limit.
CREATE VIEW pareto AS
WITH costs AS (
  SELECT t.study_id, t.trial_id, o.rank, o.metric,
    CASE o.direction WHEN 'maximize' THEN -h.value ELSE h.value END AS cost
  FROM trials t
  JOIN objectives o USING (study_id)
  JOIN headline h ON h.study_id = t.study_id AND h.trial_id = t.trial_id AND h.metric = o.metric
  WHERE t.state = 'completed' AND t.fidelity = 'full' AND NOT isnan(h.value)
    AND h.provenance = 'measured'
    AND NOT EXISTS (
      SELECT 1 FROM constraint_verdicts c
      WHERE c.study_id = t.study_id AND c.trial_id = t.trial_id
        AND c.constraint_name = 'max_vram_gb' AND c.verdict = 'violated')
),
candidates AS (
  SELECT c.study_id, c.trial_id
  FROM costs c JOIN (SELECT study_id, count(*) AS wanted FROM objectives GROUP BY study_id) o
    USING (study_id)
  GROUP BY c.study_id, c.trial_id, o.wanted
  HAVING count(*) = o.wanted
),
beaten AS (
  SELECT a.study_id, a.trial_id
  FROM costs a SEMI JOIN candidates USING (study_id, trial_id)
  JOIN (FROM costs SEMI JOIN candidates USING (study_id, trial_id)) b
    ON a.study_id = b.study_id AND a.metric = b.metric AND a.trial_id <> b.trial_id
  GROUP BY a.study_id, a.trial_id, b.trial_id
  HAVING bool_and(b.cost <= a.cost) AND bool_or(b.cost < a.cost)
)
SELECT t.study_id, t.trial_id, t.number, t.strategy_id IS NULL AS is_baseline,
  any_value(h.value) FILTER (h.metric = 'accuracy') AS accuracy,
  any_value(h.standard_error) FILTER (h.metric = 'accuracy') AS accuracy_standard_error,
  any_value(h.value) FILTER (h.metric = 'perplexity') AS perplexity,
  any_value(h.value) FILTER (h.metric = 'latency_ms') AS latency_ms,
  any_value(h.value) FILTER (h.metric = 'size_bytes') AS size_bytes,
  any_value(h.value) FILTER (h.metric = 'memory_bytes') AS memory_bytes,
  t.reward, t.artifact_id
FROM trials t SEMI JOIN candidates USING (study_id, trial_id) ANTI JOIN beaten USING (study_id, trial_id)
JOIN headline h ON h.study_id = t.study_id AND h.trial_id = t.trial_id
GROUP BY ALL;
COMMENT ON VIEW pareto IS
  'Front members: measured in full, and no other such trial is as good on every objective and better on one.';
COMMENT ON COLUMN pareto.latency_ms IS 'milliseconds a generated token, in the runtime of the study';

CREATE VIEW retention AS
SELECT m.study_id, m.trial_id, m.metric, m.task, m.fidelity, m.runtime, m.value,
  b.value AS baseline,
  m.value / b.value AS ratio,
  CASE m.direction WHEN 'maximize' THEN b.value - m.value ELSE m.value - b.value END AS degradation,
  m.standard_error, b.standard_error AS baseline_standard_error, m.n, m.unit
FROM measurements m
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id AND t.strategy_id IS NOT NULL
JOIN trials base ON base.study_id = m.study_id AND base.strategy_id IS NULL AND base.state = 'completed'
JOIN measurements b ON b.study_id = m.study_id AND b.trial_id = base.trial_id
  AND b.metric = m.metric AND b.fidelity = m.fidelity
  AND b.task IS NOT DISTINCT FROM m.task AND b.task_version IS NOT DISTINCT FROM m.task_version
  AND b.slice IS NOT DISTINCT FROM m.slice AND b.runtime IS NOT DISTINCT FROM m.runtime;
COMMENT ON VIEW retention IS
  'Each figure beside the baseline''s under the same task version, fidelity and runtime.';
COMMENT ON COLUMN retention.ratio IS 'value / baseline';
COMMENT ON COLUMN retention.degradation IS 'how much worse than the baseline; negative: better';

CREATE VIEW trial_summary AS
WITH figures AS (
  SELECT study_id, trial_id,
    any_value(value) FILTER (metric = 'accuracy') AS accuracy,
    any_value(standard_error) FILTER (metric = 'accuracy') AS accuracy_standard_error,
    any_value(n) FILTER (metric = 'accuracy') AS accuracy_n,
    any_value(value) FILTER (metric = 'perplexity') AS perplexity,
    any_value(value) FILTER (metric = 'latency_ms') AS latency_ms,
    any_value(value) FILTER (metric = 'prefill_tokens_per_s') AS prefill_tokens_per_s,
    any_value(value) FILTER (metric = 'size_bytes') AS size_bytes,
    any_value(value) FILTER (metric = 'memory_bytes') AS memory_bytes,
    any_value(value) FILTER (metric = 'gpu_memory_bytes') AS gpu_memory_bytes,
    any_value(value) FILTER (metric = 'energy_j_per_1k_tokens') AS energy_j_per_1k_tokens,
    any_value(method) FILTER (metric = 'energy_j_per_1k_tokens') AS energy_reader,
    any_value(value) FILTER (metric = 'co2_g_per_1k_tokens') AS co2_g_per_1k_tokens
  FROM headline GROUP BY study_id, trial_id
),
recipes AS (
  SELECT study_id, trial_id, string_agg(method, ' + ' ORDER BY action_index) AS methods
  FROM actions GROUP BY study_id, trial_id
),
verdicts AS (
  SELECT study_id, trial_id,
    coalesce(list(constraint_name ORDER BY constraint_name) FILTER (verdict = 'violated'), []) AS violated,
    coalesce(list(constraint_name ORDER BY constraint_name) FILTER (verdict = 'undecided'), []) AS undecided
  FROM constraint_verdicts GROUP BY study_id, trial_id
)
SELECT t.study_id, t.trial_id, t.number, coalesce(r.methods, 'baseline') AS methods,
  t.state, t.fidelity, t.reward,
  f.accuracy, f.accuracy_standard_error, f.accuracy_n,
  base.accuracy - f.accuracy AS accuracy_drop,
  f.perplexity, f.latency_ms, base.latency_ms / f.latency_ms AS speedup,
  f.prefill_tokens_per_s, f.size_bytes, s.fp16_bytes / f.size_bytes AS compression_ratio,
  f.memory_bytes, f.gpu_memory_bytes, f.energy_j_per_1k_tokens, f.energy_reader,
  f.co2_g_per_1k_tokens, coalesce(v.violated, []) AS violated, coalesce(v.undecided, []) AS undecided,
  p.trial_id IS NOT NULL AS on_front, s.runtime, t.seconds, t.failure_kind, t.failure_message,
  t.strategy_id, t.mode, t.artifact_id, t.started_at, t.finished_at
FROM trials t
JOIN studies s USING (study_id)
LEFT JOIN figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
LEFT JOIN recipes r ON r.study_id = t.study_id AND r.trial_id = t.trial_id
LEFT JOIN verdicts v ON v.study_id = t.study_id AND v.trial_id = t.trial_id
LEFT JOIN trials zero ON zero.study_id = t.study_id AND zero.strategy_id IS NULL AND zero.state = 'completed'
LEFT JOIN figures base ON base.study_id = zero.study_id AND base.trial_id = zero.trial_id
LEFT JOIN pareto p ON p.study_id = t.study_id AND p.trial_id = t.trial_id;
COMMENT ON VIEW trial_summary IS 'One row a trial with its main figures beside the baseline''s.';
COMMENT ON COLUMN trial_summary.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN trial_summary.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN trial_summary.accuracy_drop IS 'baseline''s accuracy less this one, absolute';
COMMENT ON COLUMN trial_summary.latency_ms IS 'milliseconds a generated token, in the runtime named';
COMMENT ON COLUMN trial_summary.speedup IS 'baseline''s latency / this one';
COMMENT ON COLUMN trial_summary.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN trial_summary.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN trial_summary.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN trial_summary.violated IS 'constraints that are violated';
COMMENT ON COLUMN trial_summary.undecided IS 'constraints whose interval spans the threshold';

CREATE VIEW leaderboard AS
SELECT row_number() OVER (
    PARTITION BY study_id
    ORDER BY len(violated) = 0 DESC, reward DESC NULLS LAST, number) AS rank,
  * EXCLUDE (failure_kind, failure_message)
FROM trial_summary
WHERE state = 'completed' AND number > 0;
COMMENT ON VIEW leaderboard IS
  'Completed trials of each study, best reward first, those that violate a constraint last.';

CREATE VIEW failures AS
SELECT t.study_id, t.trial_id, s.methods, t.state, t.failure_kind AS kind,
  t.failure_message AS message, t.failure_hint AS hint, t.failure_stage AS stage, t.finished_at
FROM trials t JOIN trial_summary s USING (study_id, trial_id)
WHERE t.failure_kind IS NOT NULL;
COMMENT ON VIEW failures IS 'Trials that did not complete, with the reason under its own name.';

CREATE VIEW lineage AS
WITH RECURSIVE chain AS (
  SELECT artifact_id, artifact_id AS root_id, 0 AS depth, 'baseline' AS recipe
  FROM artifacts WHERE parent_id IS NULL
  UNION ALL
  SELECT a.artifact_id, c.root_id, c.depth + 1,
    CASE c.depth WHEN 0 THEN a.method ELSE c.recipe || ' + ' || a.method END
  FROM artifacts a JOIN chain c ON a.parent_id = c.artifact_id
)
SELECT c.artifact_id, a.parent_id, c.root_id, c.depth, c.recipe, a.size_bytes, a.weight_bits,
  a.minimum_cosine, a.location
FROM chain c JOIN artifacts a USING (artifact_id);
COMMENT ON VIEW lineage IS 'Each artifact with the baseline it comes from and the methods on the way.';
