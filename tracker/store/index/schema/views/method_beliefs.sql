CREATE VIEW method_beliefs AS
SELECT b.study_id, b.number, e.trial_id, e.reward, b.agent, b.method, b.trials, b.alpha, b.beta,
  b.alpha / (b.alpha + b.beta) AS mean,
  sqrt(b.alpha * b.beta / ((b.alpha + b.beta) ** 2 * (b.alpha + b.beta + 1))) AS deviation,
  b.number = max(b.number) OVER (PARTITION BY b.study_id) AS latest
FROM beliefs b JOIN episodes e USING (study_id, number);

COMMENT ON VIEW method_beliefs IS
  'What a study that draws methods by their beliefs (--sampler bandit) thought of each method after every episode: a Beta distribution of the probability that a recipe with it has a better reward than another trial.';
