-- Tables of the index. Everything here is made from the journal and can be made again.
-- `position` is the byte of the journal where a row's record begins: it orders rows truly, also
-- where a clock was set back. Times are UTC. Gigabytes are 1e9 bytes. NaN and infinities are kept.

CREATE TABLE studies (
  study_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  opened_at TIMESTAMP,
  closed_at TIMESTAMP,
  resumed_at TIMESTAMP,
  stop VARCHAR,                       -- why it ended; NULL while it runs
  message VARCHAR,
  recommended VARCHAR,                -- trial_id
  model_name VARCHAR NOT NULL,
  dataset VARCHAR NOT NULL,
  seed BIGINT NOT NULL,
  target VARCHAR,
  budget_seconds DOUBLE,
  gpu_hours DOUBLE,
  max_trials BIGINT,
  command VARCHAR NOT NULL,
  code_commit VARCHAR,
  pare_version VARCHAR NOT NULL,
  model_revision VARCHAR,
  model_source VARCHAR NOT NULL,
  model_path VARCHAR NOT NULL,
  architecture VARCHAR NOT NULL,
  model_type VARCHAR NOT NULL,
  model_dtype VARCHAR NOT NULL,
  parameters BIGINT NOT NULL,
  embedding_parameters BIGINT NOT NULL,
  linear_parameters BIGINT NOT NULL,
  original_bytes BIGINT NOT NULL,
  fp16_bytes BIGINT NOT NULL,         -- base of compression ratios
  tied_embeddings BOOLEAN NOT NULL,
  layers BIGINT NOT NULL,
  hidden_size BIGINT NOT NULL,
  intermediate_size BIGINT NOT NULL,
  heads BIGINT NOT NULL,
  kv_heads BIGINT NOT NULL,
  vocabulary BIGINT NOT NULL,
  context_length BIGINT NOT NULL,
  grid_bits BIGINT,                  -- grid on which the original weights already lie
  grid_group_size BIGINT,
  grid_symmetric BOOLEAN,
  grid_fraction DOUBLE,
  device VARCHAR NOT NULL,
  device_name VARCHAR NOT NULL,
  platform VARCHAR NOT NULL,
  cores BIGINT NOT NULL,
  memory_gb DOUBLE NOT NULL,
  free_memory_gb DOUBLE NOT NULL,
  vram_gb DOUBLE,
  compute_capability VARCHAR,
  free_disk_gb DOUBLE NOT NULL,
  torch_version VARCHAR NOT NULL,
  torch_build VARCHAR NOT NULL,
  energy_reader VARCHAR NOT NULL,
  dataset_kind VARCHAR NOT NULL,
  dataset_rows BIGINT,
  dataset_sha256 VARCHAR,
  dataset_class VARCHAR NOT NULL,
  primary_objective VARCHAR NOT NULL,
  runtime VARCHAR NOT NULL,
  model_size_gb DOUBLE NOT NULL,
  required_memory_gb DOUBLE NOT NULL,
  preferred_quant VARCHAR[] NOT NULL,
  max_accuracy_drop DOUBLE NOT NULL,
  max_vram_gb DOUBLE,
  max_latency_ms DOUBLE,
  max_size_gb DOUBLE,
  weight_accuracy DOUBLE NOT NULL,    -- weights of the reward
  weight_latency DOUBLE NOT NULL,
  weight_memory DOUBLE NOT NULL,
  weight_energy DOUBLE NOT NULL,
  warnings VARCHAR[] NOT NULL
);

CREATE TABLE objectives (
  study_id VARCHAR NOT NULL, rank BIGINT NOT NULL, metric VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, unit VARCHAR NOT NULL
);

CREATE TABLE study_tasks (
  study_id VARCHAR NOT NULL, task VARCHAR NOT NULL, task_version VARCHAR,
  "primary" BOOLEAN NOT NULL, proxy_samples BIGINT, full_samples BIGINT,
  missing_reason VARCHAR               -- why a task that belongs here could not be taken
);

CREATE TABLE method_verdicts (
  study_id VARCHAR NOT NULL, agent VARCHAR NOT NULL, method VARCHAR NOT NULL,
  supported BOOLEAN NOT NULL, reason VARCHAR NOT NULL
);

CREATE TABLE assumptions (
  study_id VARCHAR NOT NULL, field VARCHAR NOT NULL, value VARCHAR,
  source VARCHAR NOT NULL, reason VARCHAR NOT NULL
);

CREATE TABLE environments (
  study_id VARCHAR NOT NULL, environment VARCHAR NOT NULL, pins_hash VARCHAR NOT NULL
);

CREATE TABLE trials (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,            -- 0 is the baseline
  strategy_id VARCHAR,
  sampler VARCHAR,
  mode VARCHAR,
  reason VARCHAR,
  state VARCHAR NOT NULL,
  fidelity VARCHAR,
  seed BIGINT,
  reward DOUBLE,
  artifact_id VARCHAR,                -- of the last action
  failure_kind VARCHAR,
  failure_message VARCHAR,
  failure_hint VARCHAR,
  failure_stage VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE
);

CREATE TABLE actions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  agent VARCHAR NOT NULL, method VARCHAR NOT NULL, artifact_id VARCHAR
);

CREATE TABLE knobs (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  knob VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  number DOUBLE,                      -- the value where it is a number or on/off (1, 0)
  requested VARCHAR,                  -- as the strategy had it, such as auto; NULL: not named
  resolved_by VARCHAR, reason VARCHAR
);

CREATE TABLE artifacts (
  artifact_id VARCHAR NOT NULL, position BIGINT NOT NULL, action_key VARCHAR NOT NULL,
  parent_id VARCHAR, agent VARCHAR, method VARCHAR,
  location VARCHAR NOT NULL, files BIGINT NOT NULL,
  size_bytes BIGINT NOT NULL, formula_bytes BIGINT, weight_bits DOUBLE, activation_bits BIGINT,
  verified_layers BIGINT, minimum_cosine DOUBLE, mean_cosine DOUBLE, worst_layer VARCHAR,
  generated_text VARCHAR, verify_seconds DOUBLE, created_at TIMESTAMP
);

CREATE TABLE artifact_files (
  artifact_id VARCHAR NOT NULL, path VARCHAR NOT NULL, bytes BIGINT NOT NULL,
  sha256 VARCHAR NOT NULL
);

CREATE TABLE trial_artifacts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, cached BOOLEAN NOT NULL
);

CREATE TABLE measurements (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE,
  fidelity VARCHAR NOT NULL, provenance VARCHAR NOT NULL,
  task VARCHAR, task_version VARCHAR, slice VARCHAR, runtime VARCHAR,
  inference_precision VARCHAR, kv_precision VARCHAR, activation_group BIGINT,
  device VARCHAR, method VARCHAR
);

CREATE TABLE samples (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  prompt_hash VARCHAR NOT NULL, score DOUBLE NOT NULL, answer VARCHAR, gold VARCHAR,
  log_likelihood DOUBLE
);

CREATE TABLE sample_files (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  path VARCHAR NOT NULL, "rows" BIGINT NOT NULL, sha256 VARCHAR NOT NULL
);

CREATE TABLE gate_decisions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, gate_index BIGINT NOT NULL,
  gate VARCHAR NOT NULL, decision VARCHAR NOT NULL, reason VARCHAR NOT NULL,
  value DOUBLE, threshold DOUBLE
);

CREATE TABLE constraint_verdicts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, constraint_name VARCHAR NOT NULL,
  threshold DOUBLE NOT NULL, value DOUBLE, interval_low DOUBLE, interval_high DOUBLE,
  verdict VARCHAR NOT NULL, samples_to_decide BIGINT
);

CREATE TABLE reward_terms (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, term VARCHAR NOT NULL,
  weight DOUBLE NOT NULL, normalised DOUBLE, contribution DOUBLE NOT NULL, note VARCHAR
);

CREATE TABLE spans (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, span_index BIGINT NOT NULL,
  name VARCHAR NOT NULL, seconds DOUBLE NOT NULL, library BOOLEAN NOT NULL
);

CREATE TABLE episodes (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP,
  trial_id VARCHAR, sampler VARCHAR NOT NULL, mode VARCHAR NOT NULL, hypervolume DOUBLE,
  front_size BIGINT NOT NULL
);

CREATE TABLE episode_front (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, rank BIGINT NOT NULL,
  trial_id VARCHAR NOT NULL
);

CREATE TABLE refused (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, strategy VARCHAR NOT NULL,
  reason VARCHAR NOT NULL
);

CREATE TABLE alerts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR, position BIGINT NOT NULL, happened_at TIMESTAMP,
  condition VARCHAR NOT NULL, evidence VARCHAR NOT NULL, action VARCHAR NOT NULL
);

CREATE TABLE resources (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP,
  stage VARCHAR NOT NULL, seconds DOUBLE NOT NULL, rss_bytes BIGINT NOT NULL,
  cpu_utilisation DOUBLE NOT NULL, free_memory_bytes BIGINT NOT NULL,
  gpu_memory_bytes BIGINT, gpu_utilisation DOUBLE, power_watts DOUBLE
);

-- What could not be taken over: a damaged record, a sample file that is gone or changed.
CREATE TABLE problems (
  position BIGINT NOT NULL, trial_id VARCHAR, problem VARCHAR NOT NULL
);

-- How much of the journal is in here; changed in the same transaction as the rows.
CREATE TABLE sink_offset (journal_offset BIGINT NOT NULL);
INSERT INTO sink_offset VALUES (0);
