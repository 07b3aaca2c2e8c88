-- Pairs by sample: the task's own score, given at the evaluation, beside what a later scorer gave for
-- the metric that the task reports. Scores of samples are compared, so that a window of text stands as
-- its loss, the logarithm of its perplexity.
CREATE VIEW score_changes AS
SELECT s.study_id, s.trial_id, s.fidelity, s.task, s.scorer, s.scorer_version, s.metric, s.position,
  count(*) AS n, avg(coalesce(a.evaluated_score, a.score)) AS earlier_mean, avg(s.score) AS mean,
  avg(s.score - coalesce(a.evaluated_score, a.score)) AS difference,
  CASE WHEN count(*) > 1 THEN stddev_samp(s.score - coalesce(a.evaluated_score, a.score)) / sqrt(count(*)) END AS standard_error,
  count(*) FILTER (abs(s.score - coalesce(a.evaluated_score, a.score))
    > 1e-9 * greatest(1, abs(coalesce(a.evaluated_score, a.score)))) AS changed
FROM scores s
JOIN study_tasks t ON t.study_id = s.study_id AND t.task = s.task AND t.metric = s.metric
JOIN samples a ON a.study_id = s.study_id AND a.trial_id = s.trial_id
  AND a.fidelity = s.fidelity AND a.task = s.task AND a.sample_hash = s.sample_hash
WHERE s.score IS NOT NULL
GROUP BY ALL;

COMMENT ON VIEW score_changes IS
  'What scoring answers again changed of a task''s own figure: a row per trial, rung and scoring.';
