-- Runs that other trackers kept: Optuna's trials, lm-eval's results, MLflow's runs. They have tables
-- of their own, as pare neither made their models nor chose their strategies; `source` and `source_id`
-- are a run's identity. NULL is what the source does not say.
CREATE TABLE imported_runs (
  source VARCHAR NOT NULL, -- optuna, lm_eval, mlflow
  source_id VARCHAR NOT NULL,
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,
  study_name VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  parent_id VARCHAR,       -- source_id of the run that it is nested in
  location VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  failure_message VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE,
  imported_at TIMESTAMP,
  content_hash VARCHAR     -- of the whole run; NULL while its last part is missing
);

CREATE TABLE imported_params (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, param VARCHAR NOT NULL, value VARCHAR,
  number DOUBLE, -- the value where it is a number or on/off (1, 0)
  distribution VARCHAR
);

CREATE TABLE imported_measurements (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR,
  direction VARCHAR, n BIGINT, standard_error DOUBLE, task VARCHAR, task_version VARCHAR,
  slice VARCHAR, few_shot BIGINT,
  objective BIGINT -- place among the study's objectives
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
