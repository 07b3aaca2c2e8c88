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

COMMENT ON VIEW imported_summary IS 'One row per run that another tracker kept.';
COMMENT ON COLUMN imported_summary.metrics IS 'figures by name: task/metric/slice where it has those';
COMMENT ON COLUMN imported_summary.params IS 'what the run was given, by name';
COMMENT ON COLUMN imported_summary.study_id IS 'the study it belongs to';
COMMENT ON COLUMN imported_summary.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN imported_summary.number IS 'the run''s number in its study';
COMMENT ON COLUMN imported_summary.source IS 'optuna, lm_eval or mlflow';
COMMENT ON COLUMN imported_summary.study_name IS 'study, experiment or folder, as the source calls it';
COMMENT ON COLUMN imported_summary.name IS 'the run''s own name';
COMMENT ON COLUMN imported_summary.state IS 'completed, failed, cancelled or running';
COMMENT ON COLUMN imported_summary.seconds IS 'from start to end';
COMMENT ON COLUMN imported_summary.started_at IS 'UTC';
COMMENT ON COLUMN imported_summary.finished_at IS 'UTC; NULL while it runs';
COMMENT ON COLUMN imported_summary.failure_message IS 'why it failed, where the source says so';
COMMENT ON COLUMN imported_summary.parent_id IS 'source_id of the run that it is nested in';
COMMENT ON COLUMN imported_summary.source_id IS 'the run''s identity there';
COMMENT ON COLUMN imported_summary.location IS 'file, folder or server it was read from';
