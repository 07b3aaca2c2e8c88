-- What the columns of the views of imported runs mean.

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

COMMENT ON COLUMN imported_leaderboard.study_id IS 'the study it belongs to';
COMMENT ON COLUMN imported_leaderboard.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN imported_leaderboard.number IS 'the run''s number in its study';
COMMENT ON COLUMN imported_leaderboard.source IS 'optuna, lm_eval or mlflow';
COMMENT ON COLUMN imported_leaderboard.name IS 'the run''s own name';
COMMENT ON COLUMN imported_leaderboard.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN imported_leaderboard.value IS 'as measured; NaN and infinities are kept';
COMMENT ON COLUMN imported_leaderboard.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN imported_leaderboard.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN imported_leaderboard.direction IS 'maximize or minimize';
COMMENT ON COLUMN imported_leaderboard.task IS 'benchmark; NULL: of no task';
COMMENT ON COLUMN imported_leaderboard.task_version IS 'version of the benchmark';
COMMENT ON COLUMN imported_leaderboard.slice IS 'part of a task, such as an MMLU subject';
COMMENT ON COLUMN imported_leaderboard.few_shot IS 'worked examples in the prompt';
COMMENT ON COLUMN imported_leaderboard.objective IS 'its place among the study''s objectives; NULL: none';

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
