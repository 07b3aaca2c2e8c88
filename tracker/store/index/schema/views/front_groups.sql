CREATE VIEW front_groups AS
SELECT g.study_id, g.group_number, g.place, g.trial_id, p.readable_id, p.front_probability,
  p.accuracy, p.perplexity, p.latency_ratio, p.size_bytes, p.memory_bytes
FROM episode_groups g
JOIN (SELECT study_id, max(number) AS number FROM episodes GROUP BY ALL) last
  USING (study_id, number)
LEFT JOIN pareto p ON p.study_id = g.study_id AND p.trial_id = g.trial_id;

COMMENT ON VIEW front_groups IS
  'Members of each study''s front that the samples do not tell apart in quality, a row per group and member: among them, the one that costs least is as good a choice. Groups may share members; without a row every two are told apart, or an older study.';
