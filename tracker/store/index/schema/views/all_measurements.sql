CREATE VIEW all_measurements AS
SELECT 'pare' AS source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM measurements
UNION ALL
SELECT source, study_id, trial_id, metric, value, unit, direction, n, standard_error,
  task, task_version, slice
FROM imported_measurements;

COMMENT ON VIEW all_measurements IS 'Figures of pare''s own trials and of imported runs, side by side.';
COMMENT ON COLUMN all_measurements.source IS 'pare, or the tracker that it was imported from';
COMMENT ON COLUMN all_measurements.study_id IS 'the study it belongs to';
COMMENT ON COLUMN all_measurements.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN all_measurements.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN all_measurements.value IS 'as measured; NaN and infinities are kept';
COMMENT ON COLUMN all_measurements.unit IS 'such as 1, ms/token or bytes';
COMMENT ON COLUMN all_measurements.direction IS 'maximize or minimize';
COMMENT ON COLUMN all_measurements.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN all_measurements.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN all_measurements.task IS 'benchmark; NULL: of no one task';
COMMENT ON COLUMN all_measurements.task_version IS 'version of the benchmark';
COMMENT ON COLUMN all_measurements.slice IS 'part of a task, such as an MMLU subject';
