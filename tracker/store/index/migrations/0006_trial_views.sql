-- Named answers about trials. What a column means stands in 0008_trial_comments.sql.

-- Which of several figures of a trial and metric counts: full before proxy, measured before
-- estimated, over all tasks before one task, the later one; speed, memory and energy in the study's
-- own runtime only.
CREATE OR REPLACE VIEW headline AS
SELECT m.*
FROM measurements m JOIN studies s USING (study_id)
WHERE m.slice IS NULL
  AND (m.runtime IS NULL OR m.metric IN ('accuracy', 'perplexity') OR m.runtime = s.runtime)
QUALIFY row_number() OVER (
  PARTITION BY m.study_id, m.trial_id, m.metric
  ORDER BY m.fidelity = 'full' DESC, m.provenance = 'measured' DESC, m.task IS NULL DESC,
    m.rowid DESC
) = 1;

CREATE OR REPLACE VIEW pareto AS
SELECT p.study_id, p.trial_id, t.number, t.readable_id, t.strategy_id IS NULL AS is_baseline,
  p.rank, p.contribution, f.accuracy, f.accuracy_standard_error, f.perplexity, f.latency_ms,
  f.size_bytes, f.memory_bytes, t.reward, t.artifact_id
FROM front_points p
JOIN trials t USING (study_id, trial_id)
JOIN trial_figures f USING (study_id, trial_id);

-- What trials are compared with. The proxy's accuracy is of other samples than the full one's.
CREATE OR REPLACE VIEW baselines AS
SELECT t.study_id, t.trial_id, q.fidelity, q.accuracy, f.latency_ms
FROM trials t
JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN (
  SELECT study_id, trial_id, fidelity, last(value ORDER BY position, rowid) AS accuracy
  FROM measurements
  WHERE metric = 'accuracy' AND task IS NULL AND slice IS NULL
    AND trial_id IN (SELECT trial_id FROM trials WHERE strategy_id IS NULL)
  GROUP BY study_id, trial_id, fidelity
) q USING (study_id, trial_id)
WHERE t.strategy_id IS NULL AND t.state = 'completed';

CREATE OR REPLACE VIEW trial_summary AS
WITH speeds AS (
  SELECT study_id, any_value(latency_ms) AS latency_ms FROM baselines GROUP BY study_id
)
SELECT t.study_id, t.trial_id, t.number, t.readable_id, t.methods,
  t.state, t.fidelity, t.reward,
  f.accuracy, f.accuracy_standard_error, f.accuracy_n,
  base.accuracy - f.accuracy AS accuracy_drop,
  f.perplexity, f.latency_ms, speed.latency_ms / f.latency_ms AS speedup,
  f.prefill_tokens_per_s, f.size_bytes, s.fp16_bytes / f.size_bytes AS compression_ratio,
  f.memory_bytes, f.gpu_memory_bytes, f.energy_j_per_1k_tokens, f.energy_reader,
  f.co2_g_per_1k_tokens, coalesce(t.violated, []) AS violated, coalesce(t.undecided, []) AS undecided,
  p.rank IS NOT DISTINCT FROM 0 AS on_front, p.rank AS front_rank, p.contribution,
  s.runtime, t.seconds, t.failure_kind, t.failure_message,
  t.strategy_id, t.sampler, t.mode, t.artifact_id, t.started_at, t.finished_at, t.seed,
  coalesce(t.command, s.command) AS command, coalesce(t.code_commit, s.code_commit) AS code_commit,
  coalesce(t.model_revision, s.model_revision) AS model_revision, t.environment_lock
FROM trials t
JOIN studies s USING (study_id)
LEFT JOIN trial_figures f ON f.study_id = t.study_id AND f.trial_id = t.trial_id
LEFT JOIN baselines base ON base.study_id = t.study_id AND base.fidelity = t.fidelity
LEFT JOIN speeds speed ON speed.study_id = t.study_id
LEFT JOIN front_points p ON p.study_id = t.study_id AND p.trial_id = t.trial_id;

CREATE OR REPLACE VIEW leaderboard AS
SELECT row_number() OVER (
    PARTITION BY study_id
    ORDER BY len(violated) = 0 DESC, reward DESC NULLS LAST, number) AS rank,
  * EXCLUDE (failure_kind, failure_message)
FROM trial_summary
WHERE state = 'completed' AND number > 0;

CREATE OR REPLACE VIEW failures AS
SELECT t.study_id, t.trial_id, t.readable_id,
  t.methods,
  t.state, t.failure_kind AS kind, t.failure_message AS message, t.failure_hint AS hint,
  t.failure_stage AS stage, t.finished_at
FROM trials t
WHERE t.failure_kind IS NOT NULL;

CREATE OR REPLACE VIEW lineage AS
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
