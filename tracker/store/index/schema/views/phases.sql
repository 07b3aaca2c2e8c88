-- One name for what a trial goes through: rungs are evaluations, and the loop's own time is a phase, too.
CREATE VIEW phases AS
SELECT s.study_id, s.trial_id,
  CASE WHEN s.name = 'loop' THEN 'loop' WHEN s.phase IN ('apply', 'speed') THEN s.phase
    WHEN s.phase IS NULL THEN 'not recorded' ELSE 'evaluate' END AS phase,
  CASE WHEN s.phase NOT IN ('apply', 'speed') AND s.name <> 'loop' THEN s.phase END AS fidelity,
  sum(s.seconds) AS seconds,
  coalesce(sum(s.seconds) FILTER (s.library), 0) AS library_seconds
FROM spans s GROUP BY ALL;

COMMENT ON VIEW phases IS
  'Where the time of each trial went: one row per trial and phase, and per rung of an evaluation; spans has the steps within.';
