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
