-- What a sample did, whole; under which protocol each task was evaluated; which samples one trial
-- kept and another lost.

ALTER TABLE samples ADD COLUMN parsed_answer VARCHAR; -- what the task's rule read; NULL: nothing
ALTER TABLE samples ADD COLUMN answer_length BIGINT;  -- characters of the whole answer
ALTER TABLE samples ADD COLUMN chosen BIGINT;         -- number of the choice taken, from 0
ALTER TABLE samples ADD COLUMN choice_log_likelihoods DOUBLE[]; -- nats, of every choice in order
ALTER TABLE samples ADD COLUMN cut_tokens BIGINT;     -- lost from the left of too long an input
COMMENT ON COLUMN samples.answer IS
  'what the model wrote or chose, its first characters (answer_chars of the study)';
COMMENT ON COLUMN samples.parsed_answer IS
  'what the task''s rule read from the answer; NULL: nothing, or a sample of an earlier version';
COMMENT ON COLUMN samples.answer_length IS 'characters of the whole answer';
COMMENT ON COLUMN samples.chosen IS 'number of the choice taken, from 0';
COMMENT ON COLUMN samples.log_likelihood IS 'nats, of the right answer';
COMMENT ON COLUMN samples.choice_log_likelihoods IS 'nats, of every choice in order';
COMMENT ON COLUMN samples.cut_tokens IS
  'tokens lost from the left of an input longer than the model reads; 0: none';

-- Equal values may be compared.
CREATE TABLE protocols (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, protocol VARCHAR NOT NULL
);

-- What a protocol's hash is over: task_version, samples, decoding, template and more.
CREATE TABLE protocol_parts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, part VARCHAR NOT NULL, value VARCHAR NOT NULL
);

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
COMMENT ON COLUMN protocol_differences.fidelity IS 'proxy or full';
COMMENT ON COLUMN protocol_differences.task IS 'benchmark';
COMMENT ON COLUMN protocol_differences.part IS 'such as task_version, samples or decoding';
COMMENT ON COLUMN protocol_differences.baseline IS 'the baseline''s';
COMMENT ON COLUMN protocol_differences.trial IS 'the trial''s';

CREATE VIEW flips AS
SELECT k.study_id, k.fidelity, k.task, k.sample_id, k.sample_hash,
  k.trial_id AS kept_by, kt.readable_id AS kept_by_readable_id,
  l.trial_id AS lost_by, lt.readable_id AS lost_by_readable_id,
  k.gold, k.answer AS kept_answer, l.answer AS lost_answer,
  k.score AS kept_score, l.score AS lost_score,
  k.log_likelihood AS kept_log_likelihood, l.log_likelihood AS lost_log_likelihood
FROM samples k
JOIN samples l ON l.study_id = k.study_id AND l.fidelity = k.fidelity AND l.task = k.task
  AND l.sample_hash = k.sample_hash AND l.prompt_hash = k.prompt_hash AND k.score = 1
  AND l.score = 0
JOIN trials kt ON kt.study_id = k.study_id AND kt.trial_id = k.trial_id
JOIN trials lt ON lt.study_id = l.study_id AND lt.trial_id = l.trial_id;
COMMENT ON VIEW flips IS
  'Samples that one trial of a study answered right and another wrong, on the same prompt; name both trials.';
COMMENT ON COLUMN flips.study_id IS 'the study it belongs to';
COMMENT ON COLUMN flips.fidelity IS 'proxy or full';
COMMENT ON COLUMN flips.task IS 'benchmark';
COMMENT ON COLUMN flips.sample_id IS 'row number in the task''s data';
COMMENT ON COLUMN flips.sample_hash IS 'over the document''s content';
COMMENT ON COLUMN flips.kept_by IS 'trial_id of the one that was right';
COMMENT ON COLUMN flips.kept_by_readable_id IS 'such as s01-rtn-8bit-g64, or baseline';
COMMENT ON COLUMN flips.lost_by IS 'trial_id of the one that was wrong';
COMMENT ON COLUMN flips.lost_by_readable_id IS 'such as s02-rtn-4bit-g64, or baseline';
COMMENT ON COLUMN flips.gold IS 'the right answer';
COMMENT ON COLUMN flips.kept_answer IS 'what the right one wrote or chose';
COMMENT ON COLUMN flips.lost_answer IS 'what the wrong one wrote or chose';
COMMENT ON COLUMN flips.kept_score IS '1';
COMMENT ON COLUMN flips.lost_score IS '0';
COMMENT ON COLUMN flips.kept_log_likelihood IS 'nats, of the right answer';
COMMENT ON COLUMN flips.lost_log_likelihood IS 'nats, of the right answer';

-- Made again: figures of unequal protocols have no retention.
CREATE OR REPLACE VIEW retention AS
WITH chances AS (
  SELECT study_id, task, chance FROM study_tasks WHERE chance IS NOT NULL
  UNION ALL
  -- The figure over all tasks is the unweighted mean of the primary ones; so is its chance.
  SELECT study_id, NULL, avg(chance) FROM study_tasks
  WHERE "primary" GROUP BY study_id HAVING count(*) = count(chance)
),
keys AS (
  SELECT study_id, trial_id, fidelity, task, protocol FROM protocols
  UNION ALL
  SELECT study_id, trial_id, fidelity, NULL, string_agg(protocol, ' ' ORDER BY task)
  FROM protocols GROUP BY study_id, trial_id, fidelity
),
bases AS MATERIALIZED (
  SELECT b.* FROM measurements b JOIN trials t USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
)
SELECT m.study_id, m.trial_id, t.readable_id, m.metric, m.task, m.slice, m.fidelity, m.runtime,
  m.value, b.value AS baseline,
  m.value / b.value AS ratio,
  CASE m.direction WHEN 'maximize' THEN b.value - m.value ELSE m.value - b.value END AS degradation,
  c.chance,
  (m.value - c.chance) / nullif(b.value - c.chance, 0) AS chance_corrected,
  m.standard_error, b.standard_error AS baseline_standard_error, m.n, m.unit
FROM measurements m
JOIN bases b ON b.study_id = m.study_id AND b.metric = m.metric AND b.fidelity = m.fidelity
  AND b.task IS NOT DISTINCT FROM m.task AND b.task_version IS NOT DISTINCT FROM m.task_version
  AND b.slice IS NOT DISTINCT FROM m.slice AND b.runtime IS NOT DISTINCT FROM m.runtime
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id AND t.strategy_id IS NOT NULL
LEFT JOIN chances c ON c.study_id = m.study_id AND c.task IS NOT DISTINCT FROM m.task
  AND m.metric = 'accuracy'
LEFT JOIN keys own ON own.study_id = m.study_id AND own.trial_id = m.trial_id
  AND own.fidelity = m.fidelity AND own.task IS NOT DISTINCT FROM m.task
  AND (m.task IS NOT NULL OR m.metric IN ('accuracy', 'perplexity'))
LEFT JOIN keys theirs ON theirs.study_id = b.study_id AND theirs.trial_id = b.trial_id
  AND theirs.fidelity = b.fidelity AND theirs.task IS NOT DISTINCT FROM b.task
WHERE own.protocol IS NULL OR theirs.protocol IS NULL OR own.protocol = theirs.protocol;

COMMENT ON VIEW retention IS
  'Each figure beside the baseline''s under the same protocol, fidelity and runtime.';
COMMENT ON COLUMN retention.study_id IS 'the study it belongs to';
COMMENT ON COLUMN retention.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN retention.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN retention.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN retention.task IS 'benchmark; NULL: over all primary tasks, or of no task';
COMMENT ON COLUMN retention.slice IS 'part of a task, such as an MMLU subject';
COMMENT ON COLUMN retention.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN retention.runtime IS 'what executed the model';
COMMENT ON COLUMN retention.value IS 'as measured; NaN and infinities are kept';
COMMENT ON COLUMN retention.baseline IS 'the baseline''s figure';
COMMENT ON COLUMN retention.ratio IS 'value / baseline';
COMMENT ON COLUMN retention.degradation IS 'how much worse than the baseline, absolute; negative: better';
COMMENT ON COLUMN retention.chance IS
  'score of guessing; NULL where the metric has none or the study did not say';
COMMENT ON COLUMN retention.chance_corrected IS '(value - chance) / (baseline - chance)';
COMMENT ON COLUMN retention.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN retention.baseline_standard_error IS 'standard error of the baseline''s figure';
COMMENT ON COLUMN retention.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN retention.unit IS 'such as 1, ms/token or bytes';

