CREATE VIEW protocol_differences AS
SELECT t.study_id, t.trial_id, own.fidelity, own.task, own.part, base.value AS baseline,
  own.value AS trial
FROM protocol_parts own
JOIN trials t ON t.study_id = own.study_id AND t.trial_id = own.trial_id
  AND t.strategy_id IS NOT NULL
JOIN trials b ON b.study_id = own.study_id AND b.strategy_id IS NULL AND b.state = 'completed'
JOIN protocol_parts base ON base.study_id = own.study_id AND base.trial_id = b.trial_id
  AND base.fidelity = own.fidelity AND base.task = own.task AND base.part = own.part
WHERE base.value <> own.value;

COMMENT ON VIEW protocol_differences IS
  'What differs between a trial''s evaluation and the baseline''s: such a pair is never compared.';
