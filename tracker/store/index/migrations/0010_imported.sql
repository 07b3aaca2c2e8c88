-- Runs that other trackers kept: Optuna's trials, lm-eval's results, MLflow's runs. They have tables
-- of their own, as pare neither made their models nor chose their strategies; `source` and `source_id`
-- are a run's identity. NULL is what the source does not say.

CREATE TABLE imported_runs (
  source VARCHAR NOT NULL,            -- optuna, lm_eval, mlflow
  source_id VARCHAR NOT NULL,
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,
  study_name VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  parent_id VARCHAR,                  -- source_id of the run that it is nested in
  location VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  failure_message VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE,
  imported_at TIMESTAMP,
  content_hash VARCHAR                -- of the whole run; NULL while its last part is missing
);

CREATE TABLE imported_params (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, param VARCHAR NOT NULL, value VARCHAR,
  number DOUBLE,                      -- the value where it is a number or on/off (1, 0)
  distribution VARCHAR
);

CREATE TABLE imported_measurements (
  source VARCHAR NOT NULL, source_id VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL, metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR,
  direction VARCHAR, n BIGINT, standard_error DOUBLE, task VARCHAR, task_version VARCHAR,
  slice VARCHAR, few_shot BIGINT,
  objective BIGINT                    -- place among the study's objectives
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

CREATE VIEW imported_summary AS
WITH given AS (
  SELECT source, source_id, map_from_entries(list((param, value) ORDER BY param)) AS params
  FROM imported_params GROUP BY source, source_id
),
figures AS (
  SELECT source, source_id,
    map_from_entries(list((figure, value) ORDER BY figure)) AS metrics
  FROM (
    SELECT source, source_id, concat_ws('/', task, metric, slice) AS figure, max(value) AS value
    FROM imported_measurements GROUP BY ALL
  ) GROUP BY source, source_id
)
SELECT r.study_id, r.trial_id, r.number, r.source, r.study_name, r.name, r.state, f.metrics,
  g.params, r.seconds, r.started_at, r.finished_at, r.failure_message, r.parent_id, r.source_id,
  r.location
FROM imported_runs r
LEFT JOIN given g ON g.source = r.source AND g.source_id = r.source_id
LEFT JOIN figures f ON f.source = r.source AND f.source_id = r.source_id;
COMMENT ON VIEW imported_summary IS 'One row a run that another tracker kept.';
COMMENT ON COLUMN imported_summary.metrics IS 'figures by name: task/metric/slice where it has those';
COMMENT ON COLUMN imported_summary.params IS 'what the run was given, by name';

CREATE VIEW imported_leaderboard AS
SELECT rank() OVER (
    PARTITION BY m.study_id, m.metric, m.task, m.slice, m.few_shot
    ORDER BY isnan(m.value), CASE m.direction WHEN 'maximize' THEN -m.value ELSE m.value END
  ) AS rank,
  m.study_id, m.trial_id, r.number, r.source, r.name, m.metric, m.value, m.standard_error, m.n,
  m.direction, m.task, m.task_version, m.slice, m.few_shot, m.objective
FROM imported_measurements m
JOIN imported_runs r ON r.source = m.source AND r.source_id = m.source_id
WHERE r.state = 'completed' AND m.direction IS NOT NULL;
COMMENT ON VIEW imported_leaderboard IS
  'Completed runs of other trackers, ranked under each figure whose better direction is known.';
COMMENT ON COLUMN imported_leaderboard.rank IS 'within study, metric, task, slice and few-shot; NaN last';

CREATE VIEW all_measurements AS
SELECT 'pare' AS source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM measurements
UNION ALL
SELECT source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM imported_measurements;
COMMENT ON VIEW all_measurements IS 'Figures of pare''s own trials and of imported runs, side by side.';
