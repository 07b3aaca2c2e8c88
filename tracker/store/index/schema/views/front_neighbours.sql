CREATE VIEW front_neighbours AS
SELECT n.* EXCLUDE (number)
  REPLACE (CASE WHEN n.samples >= n.existing THEN NULL ELSE n.more END AS more)
FROM episode_neighbours n
JOIN (SELECT study_id, max(number) AS number FROM episodes GROUP BY ALL) last
  USING (study_id, number);

COMMENT ON VIEW front_neighbours IS
  'Members of each study''s front beside each other in quality, the best first: how they differ, and about how many more samples would tell them apart.';
COMMENT ON COLUMN front_neighbours.study_id IS 'the study it belongs to';
COMMENT ON COLUMN front_neighbours.place IS 'from 0: the best two';
COMMENT ON COLUMN front_neighbours.better IS 'trial_id of the better one';
COMMENT ON COLUMN front_neighbours.worse IS 'trial_id of the one that follows it';
COMMENT ON COLUMN front_neighbours.difference IS
  'by which it is worse on the same samples: accuracy absolute, perplexity as a relative rise';
COMMENT ON COLUMN front_neighbours.low IS 'lower end of the difference''s paired 95 % interval';
COMMENT ON COLUMN front_neighbours.high IS 'upper end of it';
COMMENT ON COLUMN front_neighbours.samples IS 'that both answered';
COMMENT ON COLUMN front_neighbours.told_apart IS 'whether the interval is without 0';
COMMENT ON COLUMN front_neighbours.existing IS
  'samples that the benchmarks have: where all of them are read, the difference is exact for these benchmarks, and more speaks of others like them; NULL: nobody knows, or an older record';
COMMENT ON COLUMN front_neighbours.more IS
  'samples beyond those that would about tell them apart: 7 times the variance of a pair over the squared difference, less samples; NULL: they are told apart, all that exist are read, or they differ by less than a third of the interval''s half width';
