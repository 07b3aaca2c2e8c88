-- Runs that other trackers kept: Optuna's trials, lm-eval's results, MLflow's runs. They have tables
-- of their own, as pare neither made their models nor chose their strategies; `source` and `source_id`
-- are a run's identity. NULL is what the source does not say.
CREATE TABLE imported_runs (
  source VARCHAR NOT NULL,
  source_id VARCHAR NOT NULL,
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,
  study_name VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  parent_id VARCHAR,
  location VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  failure_message VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE,
  imported_at TIMESTAMP,
  content_hash VARCHAR
);

CREATE TABLE imported_params (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, param VARCHAR NOT NULL, value VARCHAR,
  number DOUBLE,
  distribution VARCHAR
);

CREATE TABLE imported_measurements (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR,
  direction VARCHAR, n BIGINT, standard_error DOUBLE, task VARCHAR, task_version VARCHAR,
  slice VARCHAR, few_shot BIGINT,
  objective BIGINT
);

CREATE TABLE imported_series (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, metric VARCHAR NOT NULL, step BIGINT NOT NULL, value DOUBLE NOT NULL,
  happened_at TIMESTAMP
);

CREATE TABLE imported_tags (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, tag VARCHAR NOT NULL, value VARCHAR NOT NULL
);
