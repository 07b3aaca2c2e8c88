-- `trials`, `constraint_verdicts` and `reward_terms` keep what the journal said when a trial ended;
-- what follows from later trials stands in comparisons.sql.
CREATE TABLE trials (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,
  strategy_id VARCHAR,
  sampler VARCHAR,
  mode VARCHAR,
  reason VARCHAR,
  state VARCHAR NOT NULL,
  fidelity VARCHAR,
  seed BIGINT,
  reward DOUBLE,
  artifact_id VARCHAR,
  failure_kind VARCHAR,
  failure_message VARCHAR,
  failure_hint VARCHAR,
  failure_phase VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE,
  readable_id VARCHAR,
  command VARCHAR,
  code_commit VARCHAR,
  pare_version VARCHAR,
  model_revision VARCHAR,
  environment_lock VARCHAR,
  methods VARCHAR,
  violated VARCHAR[],
  undecided VARCHAR[],
  stored_form VARCHAR
);

CREATE TABLE actions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  agent VARCHAR NOT NULL, method VARCHAR NOT NULL, artifact_id VARCHAR
);

CREATE TABLE knobs (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  knob VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  number DOUBLE,
  requested VARCHAR,
  resolved_by VARCHAR, reason VARCHAR
);

CREATE TABLE spans (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, span_index BIGINT NOT NULL,
  name VARCHAR NOT NULL, seconds DOUBLE NOT NULL, library BOOLEAN NOT NULL,
  phase VARCHAR,
  action_index BIGINT
);

CREATE TABLE gate_decisions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, gate_index BIGINT NOT NULL,
  gate VARCHAR NOT NULL, decision VARCHAR NOT NULL, reason VARCHAR NOT NULL,
  value DOUBLE, threshold DOUBLE,
  action_index BIGINT,
  attempt BIGINT,
  artifact_id VARCHAR,
  parent_id VARCHAR,
  adjustment VARCHAR,
  samples BIGINT,
  expected BIGINT,
  unread BIGINT,
  dominated_by VARCHAR
);

CREATE TABLE constraint_verdicts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, constraint_name VARCHAR NOT NULL,
  threshold DOUBLE NOT NULL, value DOUBLE, interval_low DOUBLE, interval_high DOUBLE,
  verdict VARCHAR NOT NULL, samples_to_decide BIGINT,
  samples BIGINT, existing_samples BIGINT, decided_at BIGINT, exact BOOLEAN, p_within DOUBLE,
  predictor VARCHAR, explained DOUBLE
);

CREATE TABLE reward_terms (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, term VARCHAR NOT NULL,
  weight DOUBLE NOT NULL, normalised DOUBLE, contribution DOUBLE NOT NULL, note VARCHAR
);

CREATE TABLE action_measurements (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  action_index BIGINT NOT NULL, attempt BIGINT NOT NULL, artifact_id VARCHAR NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE,
  fidelity VARCHAR NOT NULL, task VARCHAR, slice VARCHAR
);
COMMENT ON TABLE action_measurements IS
  'Quality of a trial''s model in the midst of its chain, where it was evaluated there; the figures of the finished model are in measurements.';
