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
