-- `position` is the byte of its run's journal where a row's record begins: it orders the rows of a study
-- truly, also where a clock was set back, and says nothing between studies. Times are UTC. Gigabytes are 1e9 bytes. NaN and infinities are kept.
CREATE TABLE studies (
  study_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  kind VARCHAR NOT NULL,
  opened_at TIMESTAMP,
  closed_at TIMESTAMP,
  resumed_at TIMESTAMP,
  stop VARCHAR,                    -- why it ended; NULL while it runs
  message VARCHAR,
  recommended VARCHAR,             -- trial_id
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
  model_path VARCHAR NOT NULL,
  architecture VARCHAR NOT NULL,
  model_type VARCHAR NOT NULL,
  model_dtype VARCHAR NOT NULL,
  parameters BIGINT NOT NULL,
  embedding_parameters BIGINT NOT NULL,
  linear_parameters BIGINT NOT NULL,
  original_bytes BIGINT NOT NULL,
  fp16_bytes BIGINT NOT NULL,      -- base of compression ratios
  tied_embeddings BOOLEAN NOT NULL,
  layers BIGINT NOT NULL,
  hidden_size BIGINT NOT NULL,
  intermediate_size BIGINT NOT NULL,
  heads BIGINT NOT NULL,
  kv_heads BIGINT NOT NULL,
  vocabulary BIGINT NOT NULL,
  context_length BIGINT NOT NULL,
  grid_bits BIGINT,                -- grid on which the original weights already lie
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
  weight_accuracy DOUBLE NOT NULL, -- weights of the reward
  weight_latency DOUBLE NOT NULL,
  weight_memory DOUBLE NOT NULL,
  weight_energy DOUBLE NOT NULL,
  weight_size DOUBLE,              -- NULL: 0
  weight_distance DOUBLE,
  warnings VARCHAR[] NOT NULL,
  cpu_watts_per_thread DOUBLE,     -- what an estimate counts with
  cpu_power_source VARCHAR,
  country VARCHAR,                 -- ISO 3166-1 alpha-3, or world
  carbon_g_per_kwh DOUBLE,
  carbon_year BIGINT,
  carbon_source VARCHAR,
  front_objectives VARCHAR[],
  front_note VARCHAR,
  weight_co2 DOUBLE
);
COMMENT ON COLUMN studies.kind IS 'of run, such as search, stages or evaluation';
COMMENT ON COLUMN studies.front_objectives IS
  'objectives in force: those of the table objectives that every evaluated trial has a measured figure of';
COMMENT ON COLUMN studies.front_note IS
  'what the front is of and why, where latency is no objective; NULL: quality, latency and bytes';
COMMENT ON COLUMN studies.budget_seconds IS
  'wall time from the baseline on, as set last; NULL: none was set';
COMMENT ON COLUMN studies.gpu_hours IS 'as set last; NULL: none was set';
COMMENT ON COLUMN studies.budget_joules IS 'as set last; NULL: none was set';
COMMENT ON COLUMN studies.max_trials IS 'as set last; NULL: none was set';
COMMENT ON COLUMN studies.weight_co2 IS 'of the reward; NULL: a study of an earlier version, as 0';

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
COMMENT ON COLUMN limit_changes.study_id IS 'the study it belongs to';
COMMENT ON COLUMN limit_changes.position IS 'of the record in the journal; its run has the same';
COMMENT ON COLUMN limit_changes.changed_at IS 'UTC';
COMMENT ON COLUMN limit_changes.limit_name IS
  'budget_seconds, gpu_hours, budget_joules, max_trials, max_full_evaluations, convergence_episodes or least_gain_per_hour';
COMMENT ON COLUMN limit_changes.value IS 'seconds, hours, joules or a count, as the name says';

CREATE TABLE objectives (
  study_id VARCHAR NOT NULL, rank BIGINT NOT NULL, metric VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, unit VARCHAR NOT NULL
);

CREATE TABLE study_tasks (
  study_id VARCHAR NOT NULL, task VARCHAR NOT NULL, task_version VARCHAR,
  "primary" BOOLEAN NOT NULL, proxy_samples BIGINT, full_samples BIGINT,
  missing_reason VARCHAR, -- why a task that belongs here could not be taken
  chance DOUBLE,          -- score of guessing; NULL where there is none
  weight DOUBLE,          -- in the mean over tasks
  strata VARCHAR,         -- by_rows: parts count by their rows
  available_samples BIGINT,
  metric VARCHAR
);
COMMENT ON COLUMN study_tasks.proxy_samples IS 'of the first rung; rungs has every one';
COMMENT ON COLUMN study_tasks.full_samples IS 'of the last rung; NULL: all';
COMMENT ON COLUMN study_tasks.weight IS 'how much it counts in the mean over tasks';
COMMENT ON COLUMN study_tasks.strata IS
  'by_rows: each part of the task counts by its rows; NULL: every sample alike';
COMMENT ON COLUMN study_tasks.available_samples IS
  'samples that exist; NULL: a study of an earlier version';
COMMENT ON COLUMN study_tasks.metric IS
  'what the task reports, such as accuracy, f1 or perplexity; NULL of a missing task and in old records';

-- The ladder of a study's evaluation, a row for each rung and benchmark.
CREATE TABLE rungs (
  study_id VARCHAR NOT NULL, height BIGINT NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, samples BIGINT
);
COMMENT ON TABLE rungs IS
  'The ladder of a study''s evaluation, a row for each rung and benchmark: a rung holds the samples of the one before it, and the last one, full, alone decides.';
COMMENT ON COLUMN rungs.study_id IS 'the study it belongs to';
COMMENT ON COLUMN rungs.height IS 'from 0, the cheapest';
COMMENT ON COLUMN rungs.fidelity IS 'its name; joins measurements, samples and trials by fidelity';
COMMENT ON COLUMN rungs.task IS 'benchmark';
COMMENT ON COLUMN rungs.samples IS 'that it takes; NULL: all';

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
  environment_lock VARCHAR -- one value for all of a run's pins
);
