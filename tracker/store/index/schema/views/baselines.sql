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
