CREATE VIEW front_neighbours AS
SELECT n.* EXCLUDE (number)
  REPLACE (CASE WHEN n.samples >= n.existing THEN NULL ELSE n.more END AS more)
FROM episode_neighbours n
JOIN (SELECT study_id, max(number) AS number FROM episodes GROUP BY ALL) last
  USING (study_id, number);

COMMENT ON VIEW front_neighbours IS
  'Members of each study''s front beside each other in quality, the best first: how they differ, and about how many more samples would tell them apart.';
