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
