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
COMMENT ON COLUMN protocol_differences.study_id IS 'the study it belongs to';
COMMENT ON COLUMN protocol_differences.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN protocol_differences.fidelity IS 'rung of the evaluation: proxy, full or the name of one between';
COMMENT ON COLUMN protocol_differences.task IS 'benchmark';
COMMENT ON COLUMN protocol_differences.part IS 'such as task_version, samples or decoding';
COMMENT ON COLUMN protocol_differences.baseline IS 'the baseline''s';
COMMENT ON COLUMN protocol_differences.trial IS 'the trial''s';
