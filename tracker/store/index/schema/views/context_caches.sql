-- What is kept of contexts, and what that costs: of each benchmark the means over its samples, each of its
-- figures in a row, beside the share of the full cache that is left. Of studies that cut caches.
CREATE VIEW context_caches AS
WITH kept AS (
  SELECT study_id, trial_id, fidelity, task, avg(context_tokens) AS context_tokens,
    avg(kept_tokens) AS kept_tokens, avg(kv_bytes) AS kv_bytes, avg(seconds) AS sample_seconds
  FROM samples WHERE context_tokens IS NOT NULL GROUP BY ALL
),
whole AS (
  SELECT k.study_id, k.fidelity, k.task, k.kv_bytes
  FROM kept k JOIN trials t USING (study_id, trial_id) WHERE t.strategy_id IS NULL
),
figures AS (
  SELECT study_id, trial_id, fidelity, task, metric, value, standard_error, n FROM measurements
  WHERE task IS NOT NULL AND slice IS NULL AND runtime IS NULL AND metric <> 'context_kv_bytes'
  QUALIFY row_number() OVER (
    PARTITION BY study_id, trial_id, fidelity, task, metric ORDER BY rowid DESC
  ) = 1
)
SELECT k.study_id, k.trial_id, t.methods, t.readable_id, k.fidelity, k.task, m.metric, m.value,
  m.standard_error, m.n, k.context_tokens, k.kept_tokens, k.kv_bytes,
  k.kv_bytes / nullif(w.kv_bytes, 0) AS share_kept, k.sample_seconds
FROM kept k
JOIN trial_summary t USING (study_id, trial_id)
JOIN figures m ON m.study_id = k.study_id AND m.trial_id = k.trial_id
  AND m.fidelity = k.fidelity AND m.task = k.task
LEFT JOIN whole w ON w.study_id = k.study_id AND w.fidelity = k.fidelity AND w.task = k.task;

COMMENT ON VIEW context_caches IS
  'What each trial keeps of the contexts of each benchmark, beside each figure of that benchmark.';
