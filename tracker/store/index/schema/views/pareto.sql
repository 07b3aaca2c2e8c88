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
COMMENT ON COLUMN pareto.study_id IS 'the study it belongs to';
COMMENT ON COLUMN pareto.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN pareto.number IS 'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN pareto.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN pareto.is_baseline IS 'the uncompressed model';
COMMENT ON COLUMN pareto.rank IS '0 on the front, 1 on the front without those, and so on';
COMMENT ON COLUMN pareto.contribution IS
  'hypervolume that the front loses without it, whoever it dominated taking its place, over the baseline''s scale';
COMMENT ON COLUMN pareto.front_probability IS
  'probability that nothing dominates it, by the answers of the benchmark drawn again and the errors of what was timed, as the latest episode has it; NULL: an older study';
COMMENT ON COLUMN pareto.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN pareto.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN pareto.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN pareto.latency_ms IS
  'milliseconds per generated token: latency_ratio times the median of the baseline''s times over the study';
COMMENT ON COLUMN pareto.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN pareto.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN pareto.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN pareto.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN pareto.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN pareto.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN pareto.artifact_id IS 'artifact of its last action; NULL for the baseline';
