-- Pairs by sample: the task's own score, given at the evaluation, beside what a later scorer gave for
-- the metric that the task reports. Scores of samples are compared, so that a window of text stands as
-- its loss, the logarithm of its perplexity.
CREATE VIEW score_changes AS
SELECT s.study_id, s.trial_id, s.fidelity, s.task, s.scorer, s.scorer_version, s.metric, s.position,
  count(*) AS n, avg(a.score) AS earlier_mean, avg(s.score) AS mean,
  avg(s.score - a.score) AS difference,
  CASE WHEN count(*) > 1 THEN stddev_samp(s.score - a.score) / sqrt(count(*)) END AS standard_error,
  count(*) FILTER (abs(s.score - a.score) > 1e-9 * greatest(1, abs(a.score))) AS changed
FROM scores s
JOIN study_tasks t ON t.study_id = s.study_id AND t.task = s.task AND t.metric = s.metric
JOIN samples a ON a.study_id = s.study_id AND a.trial_id = s.trial_id
  AND a.fidelity = s.fidelity AND a.task = s.task AND a.sample_hash = s.sample_hash
WHERE s.score IS NOT NULL
GROUP BY ALL;

COMMENT ON VIEW score_changes IS
  'What scoring answers again changed of a task''s own figure: a row per trial, rung and scoring.';
COMMENT ON COLUMN score_changes.study_id IS 'the study it belongs to';
COMMENT ON COLUMN score_changes.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN score_changes.fidelity IS 'rung whose answers were scored';
COMMENT ON COLUMN score_changes.task IS 'benchmark';
COMMENT ON COLUMN score_changes.scorer IS 'that scored them again';
COMMENT ON COLUMN score_changes.scorer_version IS 'of that scorer';
COMMENT ON COLUMN score_changes.metric IS 'the task''s own';
COMMENT ON COLUMN score_changes.position IS 'of the record in the journal: which scoring it was';
COMMENT ON COLUMN score_changes.n IS 'samples that both have scored';
COMMENT ON COLUMN score_changes.earlier_mean IS 'of the samples'' scores at the evaluation';
COMMENT ON COLUMN score_changes.mean IS 'of the samples'' scores now';
COMMENT ON COLUMN score_changes.difference IS 'now less the evaluation''s';
COMMENT ON COLUMN score_changes.standard_error IS 'of the difference, paired; NULL: of one sample';
COMMENT ON COLUMN score_changes.changed IS 'samples whose score is another one now';
