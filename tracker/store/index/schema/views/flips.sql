CREATE VIEW flips AS
-- The bits of a recipe are those of the first action that has such a knob, as in its readable name.
WITH bits AS (
  SELECT k.study_id, k.trial_id, arg_min(k.number, k.action_index) AS bits
  FROM knobs k WHERE k.knob = 'bits' GROUP BY k.study_id, k.trial_id
)
SELECT k.study_id, k.fidelity, k.task, k.sample_id, k.sample_hash,
  k.trial_id AS kept_by, kt.readable_id AS kept_by_readable_id,
  kt.methods AS kept_by_methods, kb.bits AS kept_by_bits,
  l.trial_id AS lost_by, lt.readable_id AS lost_by_readable_id,
  lt.methods AS lost_by_methods, lb.bits AS lost_by_bits,
  k.gold, k.answer AS kept_answer, l.answer AS lost_answer,
  k.score AS kept_score, l.score AS lost_score,
  k.log_likelihood AS kept_log_likelihood, l.log_likelihood AS lost_log_likelihood
FROM samples k
JOIN samples l ON l.study_id = k.study_id AND l.fidelity = k.fidelity AND l.task = k.task
  AND l.sample_hash = k.sample_hash AND l.prompt_hash = k.prompt_hash AND k.score = 1
  AND l.score = 0
JOIN trials kt ON kt.study_id = k.study_id AND kt.trial_id = k.trial_id
JOIN trials lt ON lt.study_id = l.study_id AND lt.trial_id = l.trial_id
LEFT JOIN bits kb ON kb.study_id = k.study_id AND kb.trial_id = k.trial_id
LEFT JOIN bits lb ON lb.study_id = l.study_id AND lb.trial_id = l.trial_id;

COMMENT ON VIEW flips IS
  'Samples that one trial of a study answered right and another wrong, on the same prompt; name both trials.';
