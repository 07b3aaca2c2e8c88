CREATE VIEW front_groups AS
SELECT g.study_id, g.group_number, g.place, g.trial_id, p.readable_id, p.front_probability,
  p.accuracy, p.perplexity, p.latency_ratio, p.size_bytes, p.memory_bytes
FROM episode_groups g
JOIN (SELECT study_id, max(number) AS number FROM episodes GROUP BY ALL) last
  USING (study_id, number)
LEFT JOIN pareto p ON p.study_id = g.study_id AND p.trial_id = g.trial_id;

COMMENT ON VIEW front_groups IS
  'Members of each study''s front that the samples do not tell apart in quality, a row per group and member: among them, the one that costs least is as good a choice. Groups may share members; without a row every two are told apart, or an older study.';
COMMENT ON COLUMN front_groups.study_id IS 'the study it belongs to';
COMMENT ON COLUMN front_groups.group_number IS 'from 0: the group that begins with the best quality';
COMMENT ON COLUMN front_groups.place IS 'from 0 within the group: the best quality';
COMMENT ON COLUMN front_groups.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN front_groups.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN front_groups.front_probability IS 'as pareto has it';
COMMENT ON COLUMN front_groups.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN front_groups.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN front_groups.latency_ratio IS
  'time of a token over that of the baseline in the same minutes';
COMMENT ON COLUMN front_groups.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN front_groups.memory_bytes IS 'peak memory of the inference process';
