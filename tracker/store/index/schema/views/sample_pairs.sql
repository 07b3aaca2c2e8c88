-- Two trials sample by sample, of one study or of two: a table of two names, since all pairs of all
-- trials would be too many rows for a view that is exported.
CREATE MACRO sample_pairs(reference_id, other_id) AS TABLE
SELECT a.fidelity, a.task, a.sample_id, a.sample_hash, a.gold,
  a.answer AS reference_answer, b.answer AS other_answer,
  a.score AS reference_score, b.score AS other_score, b.score - a.score AS difference,
  a.log_likelihood AS reference_log_likelihood, b.log_likelihood AS other_log_likelihood
FROM samples a
JOIN samples b ON b.task = a.task AND b.fidelity = a.fidelity AND b.sample_hash = a.sample_hash
-- Under the same protocol alone: figures of unequal ones are not compared.
JOIN protocols pa ON pa.study_id = a.study_id AND pa.trial_id = a.trial_id
  AND pa.fidelity = a.fidelity AND pa.task = a.task
JOIN protocols pb ON pb.study_id = b.study_id AND pb.trial_id = b.trial_id
  AND pb.fidelity = b.fidelity AND pb.task = b.task AND pb.protocol = pa.protocol
WHERE a.trial_id = reference_id AND b.trial_id = other_id;

COMMENT ON MACRO TABLE sample_pairs IS
  'FROM sample_pairs(''a/t00'', ''b/t00''): each sample of two trials under the same protocol';
