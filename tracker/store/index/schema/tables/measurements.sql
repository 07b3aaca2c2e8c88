CREATE TABLE measurements (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE,
  fidelity VARCHAR NOT NULL, provenance VARCHAR NOT NULL,
  task VARCHAR, task_version VARCHAR, slice VARCHAR, runtime VARCHAR,
  inference_precision VARCHAR, kv_precision VARCHAR, activation_group BIGINT,
  device VARCHAR, method VARCHAR,
  minimum DOUBLE,
  lower_quartile DOUBLE,
  upper_quartile DOUBLE,
  maximum DOUBLE,
  chance DOUBLE,
  stratum_rows BIGINT,
  scored_again_at TIMESTAMP,
  busy_cores DOUBLE,
  threads BIGINT
);

-- Columns of measurements that say what a figure is of and how it came about.
CREATE TABLE earlier_measurements (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE,
  fidelity VARCHAR NOT NULL, provenance VARCHAR NOT NULL,
  task VARCHAR, task_version VARCHAR, slice VARCHAR, runtime VARCHAR, device VARCHAR,
  method VARCHAR, chance DOUBLE, stratum_rows BIGINT,
  replaced_at TIMESTAMP NOT NULL, replaced_by VARCHAR NOT NULL
);
COMMENT ON TABLE earlier_measurements IS
  'figures of answers that were scored again since: the newer one is in measurements';

CREATE TABLE energy_readings (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  happened_at TIMESTAMP, call VARCHAR NOT NULL, reader VARCHAR NOT NULL,
  joules DOUBLE NOT NULL, seconds DOUBLE NOT NULL, idle_watts DOUBLE NOT NULL,
  tokens BIGINT NOT NULL,
  how VARCHAR,
  country VARCHAR,
  carbon_g_per_kwh DOUBLE,
  carbon_year BIGINT,
  carbon_source VARCHAR
);

-- Points that trials logged: metrics over steps. Their names stand once a series, as a row with
-- three texts takes four times as long to write; read them through the view metric_points.
CREATE TABLE metric_series (
  series_id BIGINT NOT NULL,
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL,
  action_index BIGINT,
  metric VARCHAR NOT NULL
);

CREATE TABLE metric_values (
  series_id BIGINT NOT NULL, position BIGINT NOT NULL, step BIGINT NOT NULL,
  happened_at TIMESTAMP NOT NULL, value DOUBLE NOT NULL
);
