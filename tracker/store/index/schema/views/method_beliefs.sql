CREATE VIEW method_beliefs AS
SELECT b.study_id, b.number, e.trial_id, e.reward, b.agent, b.method, b.trials, b.alpha, b.beta,
  b.alpha / (b.alpha + b.beta) AS mean,
  sqrt(b.alpha * b.beta / ((b.alpha + b.beta) ** 2 * (b.alpha + b.beta + 1))) AS deviation,
  b.number = max(b.number) OVER (PARTITION BY b.study_id) AS latest
FROM beliefs b JOIN episodes e USING (study_id, number);

COMMENT ON VIEW method_beliefs IS
  'What a study that draws methods by their beliefs (--sampler bandit) thought of each method after every episode: a Beta distribution of the probability that a recipe with it has a better reward than another trial.';
COMMENT ON COLUMN method_beliefs.study_id IS 'the study it belongs to';
COMMENT ON COLUMN method_beliefs.number IS 'of the episode after which it stood so';
COMMENT ON COLUMN method_beliefs.trial_id IS 'the trial of that episode; NULL: none';
COMMENT ON COLUMN method_beliefs.reward IS 'of that trial, as the turn ended; NULL: none';
COMMENT ON COLUMN method_beliefs.agent IS 'whose method it is';
COMMENT ON COLUMN method_beliefs.method IS 'the method';
COMMENT ON COLUMN method_beliefs.trials IS 'of this study that moved it so far';
COMMENT ON COLUMN method_beliefs.alpha IS '1, and what its trials won';
COMMENT ON COLUMN method_beliefs.beta IS '1, and what its trials lost';
COMMENT ON COLUMN method_beliefs.mean IS 'of the distribution';
COMMENT ON COLUMN method_beliefs.deviation IS 'standard deviation of the distribution';
COMMENT ON COLUMN method_beliefs.latest IS 'whether it stands after the study''s last episode';
