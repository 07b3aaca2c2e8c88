-- `position` is the byte of its run's journal where a row's record begins: it orders the rows of a study
-- truly, also where a clock was set back, and says nothing between studies. Times are UTC. Gigabytes are 1e9 bytes. NaN and infinities are kept.
CREATE TABLE studies (
  study_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  kind VARCHAR NOT NULL,
  opened_at TIMESTAMP,
  closed_at TIMESTAMP,
  resumed_at TIMESTAMP,
  stop VARCHAR,
  message VARCHAR,
  recommended VARCHAR,
  model_name VARCHAR NOT NULL,
  dataset VARCHAR NOT NULL,
  seed BIGINT NOT NULL,
  target VARCHAR,
  budget_seconds DOUBLE,
  gpu_hours DOUBLE,
  budget_joules DOUBLE,
  max_trials BIGINT,
  command VARCHAR NOT NULL,
  code_commit VARCHAR,
  pare_version VARCHAR NOT NULL,
  model_revision VARCHAR,
  model_source VARCHAR NOT NULL,
  architecture VARCHAR NOT NULL,
  model_type VARCHAR NOT NULL,
  model_dtype VARCHAR NOT NULL,
  parameters BIGINT NOT NULL,
  embedding_parameters BIGINT NOT NULL,
  linear_parameters BIGINT NOT NULL,
  original_bytes BIGINT NOT NULL,
  fp16_bytes BIGINT NOT NULL,
  tied_embeddings BOOLEAN NOT NULL,
  layers BIGINT NOT NULL,
  hidden_size BIGINT NOT NULL,
  intermediate_size BIGINT NOT NULL,
  heads BIGINT NOT NULL,
  kv_heads BIGINT NOT NULL,
  vocabulary BIGINT NOT NULL,
  context_length BIGINT NOT NULL,
  grid_bits BIGINT,
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
  max_kv_gb DOUBLE,
  context_tokens BIGINT,
  weight_accuracy DOUBLE NOT NULL,
  weight_latency DOUBLE NOT NULL,
  weight_memory DOUBLE NOT NULL,
  weight_energy DOUBLE NOT NULL,
  weight_size DOUBLE,
  weight_distance DOUBLE,
  warnings VARCHAR[] NOT NULL,
  cpu_watts_per_thread DOUBLE,
  cpu_power_source VARCHAR,
  country VARCHAR,
  carbon_g_per_kwh DOUBLE,
  carbon_year BIGINT,
  carbon_source VARCHAR,
  front_objectives VARCHAR[],
  front_note VARCHAR,
  weight_co2 DOUBLE
);

-- One row each time that a study was opened or taken up again.
CREATE TABLE runs (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, started_at TIMESTAMP,
  resumed BOOLEAN NOT NULL, command VARCHAR, code_commit VARCHAR, pare_version VARCHAR,
  model_revision VARCHAR, environment_lock VARCHAR
);

CREATE TABLE limit_changes (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, changed_at TIMESTAMP,
  limit_name VARCHAR NOT NULL, value DOUBLE NOT NULL
);
COMMENT ON TABLE limit_changes IS
  'Limits that resuming a study set anew; the last of a name is in force, and stands in studies.';

CREATE TABLE objectives (
  study_id VARCHAR NOT NULL, rank BIGINT NOT NULL, metric VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, unit VARCHAR NOT NULL
);

CREATE TABLE study_tasks (
  study_id VARCHAR NOT NULL, task VARCHAR NOT NULL, task_version VARCHAR,
  "primary" BOOLEAN NOT NULL, proxy_samples BIGINT, full_samples BIGINT,
  missing_reason VARCHAR,
  chance DOUBLE,
  weight DOUBLE,
  strata VARCHAR,
  available_samples BIGINT,
  metric VARCHAR
);

-- The ladder of a study's evaluation, a row for each rung and benchmark.
CREATE TABLE rungs (
  study_id VARCHAR NOT NULL, height BIGINT NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, samples BIGINT
);
COMMENT ON TABLE rungs IS
  'The ladder of a study''s evaluation, a row for each rung and benchmark: a rung holds the samples of the one before it, and the last one, full, alone decides.';

CREATE TABLE method_verdicts (
  study_id VARCHAR NOT NULL, agent VARCHAR NOT NULL, method VARCHAR NOT NULL,
  supported BOOLEAN NOT NULL, reason VARCHAR NOT NULL
);

CREATE TABLE assumptions (
  study_id VARCHAR NOT NULL, field VARCHAR NOT NULL, value VARCHAR,
  source VARCHAR NOT NULL, reason VARCHAR NOT NULL
);

CREATE TABLE environments (
  study_id VARCHAR NOT NULL, environment VARCHAR NOT NULL, pins_hash VARCHAR NOT NULL,
  position BIGINT,
  environment_lock VARCHAR
);
