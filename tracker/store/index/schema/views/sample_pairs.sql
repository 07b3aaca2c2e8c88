-- Two trials sample by sample, of one study or of two: a table of two names, since all pairs of all
-- trials would be too many rows for a view that is exported. A window of text is scored by the logarithm
-- of its perplexity: here it stands as that, and its difference is relative, as everywhere.
CREATE MACRO sample_pairs(reference_id, other_id) AS TABLE
WITH texts AS (
  SELECT study_id, task FROM study_tasks WHERE metric = 'perplexity'
  UNION -- a study that did not keep what its tasks report
  SELECT study_id, task FROM study_tasks JOIN measurements USING (study_id, task)
  WHERE study_tasks.metric IS NULL AND measurements.metric = 'perplexity'
)
SELECT a.fidelity, a.task, a.sample_id, a.sample_hash, a.gold,
  a.answer AS reference_answer, b.answer AS other_answer,
  CASE WHEN t.task IS NULL THEN 'score' ELSE 'perplexity' END AS metric,
  CASE WHEN t.task IS NULL THEN a.score ELSE exp(a.score) END AS reference_score,
  CASE WHEN t.task IS NULL THEN b.score ELSE exp(b.score) END AS other_score,
  CASE WHEN t.task IS NULL THEN b.score - a.score ELSE exp(b.score - a.score) - 1 END AS difference,
  CASE WHEN t.task IS NULL THEN b.score > a.score ELSE b.score < a.score END AS won,
  a.log_likelihood AS reference_log_likelihood, b.log_likelihood AS other_log_likelihood
FROM samples a
JOIN samples b ON b.task = a.task AND b.fidelity = a.fidelity AND b.sample_hash = a.sample_hash
-- Under the same protocol alone: figures of unequal ones are not compared.
JOIN protocols pa ON pa.study_id = a.study_id AND pa.trial_id = a.trial_id
  AND pa.fidelity = a.fidelity AND pa.task = a.task
JOIN protocols pb ON pb.study_id = b.study_id AND pb.trial_id = b.trial_id
  AND pb.fidelity = b.fidelity AND pb.task = b.task AND pb.protocol = pa.protocol
LEFT JOIN texts t ON t.study_id = a.study_id AND t.task = a.task
WHERE a.trial_id = reference_id AND b.trial_id = other_id;

COMMENT ON MACRO TABLE sample_pairs IS
  'FROM sample_pairs(''a/t00'', ''b/t00''): each sample of two trials under the same protocol; of a window of text its perplexity, the difference relative';
