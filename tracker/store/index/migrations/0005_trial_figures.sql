-- What lists of trials are made of, ready: a leaderboard of ten thousand trials must not add up
-- every measurement each time it is asked for. The sink keeps both up with the rows they come from.

ALTER TABLE trials ADD COLUMN methods VARCHAR;       -- in order, such as gptq + rtn; baseline
ALTER TABLE trials ADD COLUMN violated VARCHAR[];    -- constraints, by name
ALTER TABLE trials ADD COLUMN undecided VARCHAR[];

-- One figure a trial and main metric, chosen as the view headline does.
CREATE TABLE trial_figures (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  accuracy DOUBLE,
  accuracy_standard_error DOUBLE,
  accuracy_n BIGINT,
  perplexity DOUBLE,
  latency_ms DOUBLE,
  prefill_tokens_per_s DOUBLE,
  size_bytes DOUBLE,
  memory_bytes DOUBLE,
  gpu_memory_bytes DOUBLE,
  energy_j_per_1k_tokens DOUBLE,
  energy_reader VARCHAR,
  co2_g_per_1k_tokens DOUBLE
);
