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
