CREATE VIEW pareto AS
SELECT p.study_id, p.trial_id, t.number, t.readable_id, t.strategy_id IS NULL AS is_baseline,
  p.rank, p.contribution, e.front_probability, f.accuracy, f.accuracy_standard_error, f.perplexity,
  c.latency_ms, c.latency_ratio, c.latency_ratio_low, c.latency_ratio_high,
  f.size_bytes, f.memory_bytes, c.reward, t.artifact_id
FROM front_points p
JOIN trials t USING (study_id, trial_id)
JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.trial_id
LEFT JOIN (
  SELECT study_id, trial_id, arg_max(front_probability, number) AS front_probability
  FROM episode_probabilities GROUP BY ALL
) e ON e.study_id = p.study_id AND e.trial_id = p.trial_id;

COMMENT ON VIEW pareto IS
  'Trials that may stand on the front, with the front they are on: rank 0 is the Pareto front.';
