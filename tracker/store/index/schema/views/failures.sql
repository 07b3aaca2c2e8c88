CREATE VIEW failures AS
SELECT t.study_id, t.trial_id, t.readable_id,
  t.methods,
  t.state, t.failure_kind AS kind, t.failure_message AS message, t.failure_hint AS hint,
  t.failure_stage AS stage, t.finished_at
FROM trials t
WHERE t.failure_kind IS NOT NULL;

COMMENT ON VIEW failures IS
  'Trials that did not complete, with the reason under its own name.';
COMMENT ON COLUMN failures.study_id IS 'the study it belongs to';
COMMENT ON COLUMN failures.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN failures.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN failures.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN failures.state IS 'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN failures.kind IS 'the failure''s own name, such as out_of_memory';
COMMENT ON COLUMN failures.message IS 'what was attempted and why not';
COMMENT ON COLUMN failures.hint IS 'what to do';
COMMENT ON COLUMN failures.stage IS 'what the trial was at';
COMMENT ON COLUMN failures.finished_at IS 'UTC; NULL while it runs';
