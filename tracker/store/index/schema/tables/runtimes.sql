-- Timings beside a study's own runtime: of the original in every runtime and precision as the study
-- began (trial_id NULL), and of trials near the front in other runtimes at its end.
CREATE TABLE runtime_timings (
  study_id VARCHAR NOT NULL, trial_id VARCHAR, position BIGINT NOT NULL,
  happened_at TIMESTAMP, runtime VARCHAR NOT NULL,
  inference_precision VARCHAR, kv_precision VARCHAR, activation_group BIGINT, threads BIGINT,
  latency_ms DOUBLE, standard_error DOUBLE, n BIGINT,
  latency_ratio DOUBLE, latency_ratio_standard_error DOUBLE,
  baseline_precision VARCHAR, baseline_latency_ms DOUBLE,
  roofline_ms DOUBLE, decode_tokens_per_s DOUBLE, prefill_tokens_per_s DOUBLE,
  bytes_read BIGINT, memory_bytes DOUBLE, busy_cores DOUBLE,
  runtime_kl DOUBLE, runtime_accuracy_change DOUBLE,
  reason VARCHAR
);
