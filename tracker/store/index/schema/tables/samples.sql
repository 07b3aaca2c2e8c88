-- What a part of a benchmark counts by stands with its samples and its own figure, so that SQL can
-- repeat every weighed mean.
CREATE TABLE samples (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  prompt_hash VARCHAR NOT NULL, score DOUBLE NOT NULL, answer VARCHAR, gold VARCHAR,
  log_likelihood DOUBLE,
  kl DOUBLE,                       -- of a window of text: nats per token, to the original
  seconds DOUBLE,                  -- that the model took for it
  parsed_answer VARCHAR,           -- what the task's rule read; NULL: nothing
  answer_length BIGINT,            -- characters of the whole answer
  chosen BIGINT,                   -- number of the choice taken, from 0
  choice_log_likelihoods DOUBLE[], -- nats, of every choice in order
  cut_tokens BIGINT,               -- lost from the left of too long an input
  greedy BOOLEAN[],                -- whether it would have written each given text by itself
  tokens BIGINT,                   -- of a window of text, those that were predicted
  chance DOUBLE,
  stratum VARCHAR,
  stratum_rows BIGINT
);
COMMENT ON COLUMN samples.answer IS
  'what the model wrote or chose, its first characters (answer_chars of the study)';
COMMENT ON COLUMN samples.parsed_answer IS
  'what the task''s rule read from the answer; NULL: nothing, or a sample of an earlier version';
COMMENT ON COLUMN samples.answer_length IS 'characters of the whole answer';
COMMENT ON COLUMN samples.chosen IS 'number of the choice taken, from 0';
COMMENT ON COLUMN samples.log_likelihood IS
  'nats, of the right answer; on the rung likelihood of the original''s own answer, score being that of a token';
COMMENT ON COLUMN samples.kl IS
  'of a window of text: KL of the original''s distributions to the trial''s, nats per token; NULL: not compared';
COMMENT ON COLUMN samples.choice_log_likelihoods IS 'nats, of every choice in order';
COMMENT ON COLUMN samples.cut_tokens IS
  'tokens lost from the left of an input longer than the model reads; 0: none';
COMMENT ON COLUMN samples.greedy IS
  'whether the model would have written each given text by itself; NULL: not kept';
COMMENT ON COLUMN samples.tokens IS 'of a window of text, those that were predicted';
COMMENT ON COLUMN samples.chance IS 'score of guessing; NULL: not known';
COMMENT ON COLUMN samples.stratum IS
  'part of the benchmark that it belongs to, such as an MMLU subject; NULL: it has none';
COMMENT ON COLUMN samples.stratum_rows IS
  'rows of that part in the benchmark''s data, where means weigh by them; NULL: all count alike';

CREATE TABLE sample_files (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  path VARCHAR NOT NULL, "rows" BIGINT NOT NULL, sha256 VARCHAR NOT NULL
);

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
