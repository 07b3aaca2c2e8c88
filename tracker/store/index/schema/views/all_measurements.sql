CREATE VIEW all_measurements AS
SELECT 'pare' AS source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM measurements
UNION ALL
SELECT source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM imported_measurements;

COMMENT ON VIEW all_measurements IS 'Figures of pare''s own trials and of imported runs, side by side.';
