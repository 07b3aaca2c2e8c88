-- What trials are compared with. Each rung's accuracy is of other samples than the next one's.
CREATE VIEW baselines AS
SELECT t.study_id, t.trial_id, q.fidelity, q.accuracy, c.latency_ms
FROM trials t
JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
LEFT JOIN (
  SELECT study_id, trial_id, fidelity, last(value ORDER BY position, rowid) AS accuracy
  FROM measurements
  WHERE metric = 'accuracy' AND task IS NULL AND slice IS NULL
    AND trial_id IN (SELECT trial_id FROM trials WHERE strategy_id IS NULL)
  GROUP BY study_id, trial_id, fidelity
) q ON q.study_id = t.study_id AND q.trial_id = t.trial_id
WHERE t.strategy_id IS NULL AND t.state = 'completed';

COMMENT ON VIEW baselines IS
  'The uncompressed model''s figures that trials are compared with, one row a fidelity.';
COMMENT ON COLUMN baselines.study_id IS 'the study it belongs to';
COMMENT ON COLUMN baselines.trial_id IS 'the trial that measured it';
COMMENT ON COLUMN baselines.fidelity IS
  'rung of the evaluation: proxy, full or the name of one between, which quality was measured on';
COMMENT ON COLUMN baselines.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN baselines.latency_ms IS
  'milliseconds per generated token: median over the sessions of the study';
