CREATE VIEW consulted_trials AS
SELECT c.study_id, c.number, c.exchange, c.model, c.outcome, c.reason, p.recipe, p.reason AS said,
  e.trial_id, e.reward, t.state
FROM consultations c
LEFT JOIN proposals p
  ON c.outcome = 'proposed' AND p.study_id = c.study_id AND p.number = c.number AND p.ask = c.ask
LEFT JOIN episodes e
  ON p.study_id = e.study_id AND p.number = e.number AND p.sampler = e.sampler
LEFT JOIN trials t ON t.study_id = e.study_id AND t.trial_id = e.trial_id;

COMMENT ON VIEW consulted_trials IS
  'What became of each answer of the language model that proposes recipes (--strategist): refused and why, or the trial that was run and its reward.';
COMMENT ON COLUMN consulted_trials.study_id IS 'the study it belongs to';
COMMENT ON COLUMN consulted_trials.number IS 'of the episode that it was asked for';
COMMENT ON COLUMN consulted_trials.exchange IS 'from 0; 1 is told why its first answer was refused';
COMMENT ON COLUMN consulted_trials.model IS 'as the endpoint names it; NULL: it was not reached';
COMMENT ON COLUMN consulted_trials.outcome IS 'proposed, refused or failed';
COMMENT ON COLUMN consulted_trials.reason IS 'why it was refused or failed; NULL: it was proposed';
COMMENT ON COLUMN consulted_trials.recipe IS 'that it proposed; NULL: none that can run';
COMMENT ON COLUMN consulted_trials.said IS 'why, in its own words; NULL: it proposed none';
COMMENT ON COLUMN consulted_trials.trial_id IS 'the trial of that recipe; NULL: none was run';
COMMENT ON COLUMN consulted_trials.reward IS 'of that trial, as the turn ended; NULL: none';
COMMENT ON COLUMN consulted_trials.state IS 'how that trial ended; NULL: none was run';
