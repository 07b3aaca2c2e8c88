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

-- Settings of a runtime's cache of keys and values, each measured in turn with the full cache: a row a
-- setting and length of the prompt; one that could not be measured has the reason, and no figures.
CREATE TABLE cache_timings (
  study_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  timed_at TIMESTAMP, runtime VARCHAR NOT NULL, runtime_version VARCHAR NOT NULL,
  setting VARCHAR NOT NULL, params VARCHAR NOT NULL, kv_precision VARCHAR,
  context_tokens BIGINT, new_tokens BIGINT, passes BIGINT,
  prefill_ms DOUBLE, decode_ms DOUBLE, prompt_bytes BIGINT, kept_bytes BIGINT,
  full_prefill_ms DOUBLE, full_decode_ms DOUBLE, full_kept_bytes BIGINT,
  prefill_ratio DOUBLE, prefill_ratio_low DOUBLE, prefill_ratio_high DOUBLE,
  decode_ratio DOUBLE, decode_ratio_low DOUBLE, decode_ratio_high DOUBLE,
  threads BIGINT NOT NULL, load_average DOUBLE NOT NULL, seed BIGINT NOT NULL,
  bytes_method VARCHAR, reason VARCHAR
);

-- What settings of a runtime's cache score by what the runtime itself generates under them.
CREATE TABLE cache_scores (
  study_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  timed_at TIMESTAMP, runtime VARCHAR NOT NULL, setting VARCHAR NOT NULL, params VARCHAR NOT NULL,
  task VARCHAR NOT NULL, metric VARCHAR NOT NULL, value DOUBLE NOT NULL, standard_error DOUBLE,
  n BIGINT NOT NULL, difference DOUBLE, difference_standard_error DOUBLE
);
