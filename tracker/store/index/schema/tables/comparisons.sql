-- What lists of trials are made of, ready: a leaderboard of ten thousand trials must not add up every
-- measurement each time it is asked for. The sink keeps these tables up with the rows they come from.

-- One figure per trial and main metric, chosen as the view headline does; latency is in compared_trials.
CREATE TABLE trial_figures (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  accuracy DOUBLE,
  accuracy_standard_error DOUBLE,
  accuracy_n BIGINT,
  perplexity DOUBLE,
  /* metrics DOUBLE */,
  energy_reader VARCHAR
);

-- Trials as the core's own rules compare them (core/front/comparable.ts): latency as its ratio to the
-- baseline of the same minutes, one figure for all trials of one stored form, and the reward and the
-- verdict on max_latency_ms that follow from it.
CREATE TABLE compared_trials (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  latency_ratio DOUBLE,
  latency_ratio_low DOUBLE,
  latency_ratio_high DOUBLE,
  latency_ms DOUBLE,
  latency_ms_standard_error DOUBLE,
  latency_sessions BIGINT,
  reward DOUBLE,
  violated VARCHAR[],
  undecided VARCHAR[]
);

-- Where each trial that may stand on a front stands; kept up by the sink.
CREATE TABLE front_points (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL,
  rank BIGINT NOT NULL,
  contribution DOUBLE
);

-- What trial_summary and leaderboard show, ready as rows: joining trials with their figures, the
-- baseline and the front at every question takes most of a leaderboard's time. The sink keeps it up.
CREATE TABLE trial_summaries (
  study_id VARCHAR,
  trial_id VARCHAR,
  number BIGINT,
  readable_id VARCHAR,
  methods VARCHAR,
  state VARCHAR,
  fidelity VARCHAR,
  reward DOUBLE,
  accuracy DOUBLE,
  accuracy_standard_error DOUBLE,
  accuracy_n BIGINT,
  accuracy_drop DOUBLE,
  perplexity DOUBLE,
  latency_ms DOUBLE,
  speedup DOUBLE,
  /* metrics DOUBLE */,
  compression_ratio DOUBLE,
  energy_reader VARCHAR,
  violated VARCHAR[],
  undecided VARCHAR[],
  front_rank BIGINT,
  contribution DOUBLE,
  runtime VARCHAR,
  seconds DOUBLE,
  failure_kind VARCHAR,
  failure_message VARCHAR,
  strategy_id VARCHAR,
  sampler VARCHAR,
  mode VARCHAR,
  artifact_id VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seed BIGINT,
  command VARCHAR,
  code_commit VARCHAR,
  model_revision VARCHAR,
  environment_lock VARCHAR,
  latency_ratio DOUBLE,
  latency_ratio_low DOUBLE,
  latency_ratio_high DOUBLE
);
