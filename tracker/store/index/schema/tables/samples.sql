-- What a part of a benchmark counts by stands with its samples and its own figure, so that SQL can
-- repeat every weighed mean.
CREATE TABLE samples (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  prompt_hash VARCHAR NOT NULL, score DOUBLE NOT NULL, answer VARCHAR, gold VARCHAR,
  log_likelihood DOUBLE,
  kl DOUBLE,
  seconds DOUBLE,
  parsed_answer VARCHAR,
  answer_length BIGINT,
  chosen BIGINT,
  choice_log_likelihoods DOUBLE[],
  cut_tokens BIGINT,
  greedy BOOLEAN[],
  tokens BIGINT,
  chance DOUBLE,
  stratum VARCHAR,
  stratum_rows BIGINT,
  context_tokens BIGINT,
  kept_tokens DOUBLE,
  kv_bytes BIGINT,
  kept_places INTEGER[],
  scored_again_at TIMESTAMP,
  evaluated_score DOUBLE
);

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
