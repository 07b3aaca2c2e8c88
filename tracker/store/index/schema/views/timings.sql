-- What was timed, beside what the machine's memory allows: both of the same minutes. A trial's row in its
-- study's own runtime, and one in every other that it was timed in.
CREATE VIEW timings AS
WITH latest AS (
  SELECT study_id, trial_id, runtime, metric, last(value ORDER BY position, rowid) AS value,
    last(inference_precision ORDER BY position, rowid) AS inference_precision,
    last(kv_precision ORDER BY position, rowid) AS kv_precision,
    last(activation_group ORDER BY position, rowid) AS activation_group,
    last(threads ORDER BY position, rowid) AS threads
  FROM measurements
  WHERE slice IS NULL AND runtime IS NOT NULL AND metric IN ('latency_ms', 'roofline_ms',
    'baseline_latency_ms', 'latency_ratio', 'decode_tokens_per_s', 'prefill_tokens_per_s')
  GROUP BY study_id, trial_id, runtime, metric
),
wide AS (
  SELECT study_id, trial_id, runtime,
    any_value(inference_precision) FILTER (metric = 'latency_ms') AS inference_precision,
    any_value(kv_precision) FILTER (metric = 'latency_ms') AS kv_precision,
    any_value(activation_group) FILTER (metric = 'latency_ms') AS activation_group,
    any_value(threads) FILTER (metric = 'latency_ms') AS threads,
    any_value(value) FILTER (metric = 'latency_ms') AS latency_ms,
    any_value(value) FILTER (metric = 'roofline_ms') AS roofline_ms,
    any_value(inference_precision) FILTER (metric = 'baseline_latency_ms') AS baseline_precision,
    any_value(value) FILTER (metric = 'baseline_latency_ms') AS baseline_latency_ms,
    any_value(value) FILTER (metric = 'latency_ratio') AS latency_ratio,
    any_value(value) FILTER (metric = 'decode_tokens_per_s') AS decode_tokens_per_s,
    any_value(value) FILTER (metric = 'prefill_tokens_per_s') AS prefill_tokens_per_s
  FROM latest GROUP BY study_id, trial_id, runtime
  UNION ALL BY NAME
  SELECT study_id, trial_id, runtime, inference_precision, kv_precision, activation_group, threads,
    latency_ms, roofline_ms, baseline_precision, baseline_latency_ms, latency_ratio,
    decode_tokens_per_s, prefill_tokens_per_s
  FROM runtime_timings WHERE trial_id IS NOT NULL
)
SELECT w.study_id, w.trial_id, t.readable_id, w.runtime, w.latency_ms, w.roofline_ms,
  w.latency_ms / nullif(w.roofline_ms, 0) AS over_roofline, w.baseline_latency_ms,
  w.latency_ratio, w.decode_tokens_per_s, w.prefill_tokens_per_s, w.inference_precision,
  w.kv_precision, w.activation_group, w.threads, w.baseline_precision
FROM wide w JOIN trials t USING (study_id, trial_id)
WHERE w.latency_ms IS NOT NULL;

COMMENT ON VIEW timings IS
  'Each trial''s time per token as it was timed, beside its roofline and the baseline of the same minutes, by runtime and its settings.';
