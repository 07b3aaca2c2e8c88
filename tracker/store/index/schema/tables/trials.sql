-- `trials`, `constraint_verdicts` and `reward_terms` keep what the journal said when a trial ended;
-- what follows from later trials stands in comparisons.sql.
CREATE TABLE trials (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  number BIGINT NOT NULL,   -- 0 is the baseline
  strategy_id VARCHAR,
  sampler VARCHAR,
  mode VARCHAR,
  reason VARCHAR,
  state VARCHAR NOT NULL,
  fidelity VARCHAR,
  seed BIGINT,
  reward DOUBLE,
  artifact_id VARCHAR,      -- of the last action
  failure_kind VARCHAR,
  failure_message VARCHAR,
  failure_hint VARCHAR,
  failure_stage VARCHAR,
  started_at TIMESTAMP,
  finished_at TIMESTAMP,
  seconds DOUBLE,
  readable_id VARCHAR,      -- such as s03-gptq-4bit-g64, or baseline
  command VARCHAR,
  code_commit VARCHAR,
  pare_version VARCHAR,
  model_revision VARCHAR,
  environment_lock VARCHAR, -- joins environments
  methods VARCHAR,          -- in order, such as gptq + rtn; baseline
  violated VARCHAR[],       -- constraints, by name
  undecided VARCHAR[],
  stored_form VARCHAR       -- hash of the stored form that was timed
);
COMMENT ON COLUMN trials.stored_form IS
  'hash of the stored form that was timed: architecture, formats, names and shapes of tensors; NULL in old records';

CREATE TABLE actions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  agent VARCHAR NOT NULL, method VARCHAR NOT NULL, artifact_id VARCHAR
);

CREATE TABLE knobs (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, action_index BIGINT NOT NULL,
  knob VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  number DOUBLE,     -- the value where it is a number or on/off (1, 0)
  requested VARCHAR, -- as the strategy had it, such as auto; NULL: not named
  resolved_by VARCHAR, reason VARCHAR
);
COMMENT ON COLUMN knobs.requested IS
  'as the strategy had it, such as auto; NULL: the strategy did not name it';
COMMENT ON COLUMN knobs.resolved_by IS
  'who gave the value: user, in the request''s own strategies; seed, a method''s first proposal; sampler, chosen in the search; method, its choice for auto; default. Studies of earlier versions say user for seed and sampler too; NULL: the trial was not begun';

CREATE TABLE spans (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, span_index BIGINT NOT NULL,
  name VARCHAR NOT NULL, seconds DOUBLE NOT NULL, library BOOLEAN NOT NULL,
  phase VARCHAR,
  stage BIGINT
);
COMMENT ON COLUMN spans.stage IS
  'action_index of the action that it worked on; NULL: of none, or a trial of an earlier version';
COMMENT ON COLUMN spans.phase IS
  'of the loop: apply, speed or the rung of an evaluation; NULL: of the loop''s own time, or a trial of an earlier version';

CREATE TABLE gate_decisions (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, gate_index BIGINT NOT NULL,
  gate VARCHAR NOT NULL, decision VARCHAR NOT NULL, reason VARCHAR NOT NULL,
  value DOUBLE, threshold DOUBLE,
  stage BIGINT,
  attempt BIGINT,
  artifact_id VARCHAR,
  parent_id VARCHAR,
  adjustment VARCHAR,
  samples BIGINT,
  expected BIGINT,
  unread BIGINT,
  dominated_by VARCHAR
);
COMMENT ON COLUMN gate_decisions.stage IS
  'action_index of the last action applied; NULL: none was, or a trial of an earlier version';
COMMENT ON COLUMN gate_decisions.attempt IS
  'from 1: how often that was tried; NULL: a trial of an earlier version';
COMMENT ON COLUMN gate_decisions.artifact_id IS 'of the artifact that was judged; NULL: none was made';
COMMENT ON COLUMN gate_decisions.parent_id IS 'artifact_id that a roll-back goes back to';
COMMENT ON COLUMN gate_decisions.adjustment IS
  'knobs that the next attempt sets anew, such as bits=4; NULL: nothing is changed';
COMMENT ON COLUMN gate_decisions.samples IS 'that it rests on; NULL: of no such gate';
COMMENT ON COLUMN gate_decisions.expected IS
  'samples that were told to decide before any was read; NULL: nothing was told';
COMMENT ON COLUMN gate_decisions.unread IS
  'samples of the rung that it made needless, of a study until decided; NULL: it was asked after all of them';
COMMENT ON COLUMN gate_decisions.dominated_by IS
  'trial_id of the member of the front that most likely dominates it; NULL: of no such gate';

CREATE TABLE constraint_verdicts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, constraint_name VARCHAR NOT NULL,
  threshold DOUBLE NOT NULL, value DOUBLE, interval_low DOUBLE, interval_high DOUBLE,
  verdict VARCHAR NOT NULL, samples_to_decide BIGINT,
  samples BIGINT, existing_samples BIGINT, decided_at BIGINT, exact BOOLEAN
);
COMMENT ON COLUMN constraint_verdicts.samples IS
  'taken in the order that all trials share; NULL, here and below: an earlier version, or not decided by samples';
COMMENT ON COLUMN constraint_verdicts.existing_samples IS 'of the benchmark; NULL: nobody knows';
COMMENT ON COLUMN constraint_verdicts.decided_at IS
  'samples after which the verdict stood, one look after every 50; NULL: it is open';
COMMENT ON COLUMN constraint_verdicts.exact IS
  'all samples that exist were needed: the verdict is their own mean''s';

CREATE TABLE reward_terms (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, term VARCHAR NOT NULL,
  weight DOUBLE NOT NULL, normalised DOUBLE, contribution DOUBLE NOT NULL, note VARCHAR
);

CREATE TABLE stage_measurements (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  stage BIGINT NOT NULL, attempt BIGINT NOT NULL, artifact_id VARCHAR NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE,
  fidelity VARCHAR NOT NULL, task VARCHAR, slice VARCHAR
);
COMMENT ON TABLE stage_measurements IS
  'Quality of a trial''s model in the midst of its chain, where it was evaluated there; the figures of the finished model are in measurements.';
COMMENT ON COLUMN stage_measurements.study_id IS 'the study it belongs to';
COMMENT ON COLUMN stage_measurements.trial_id IS 'joins trials';
COMMENT ON COLUMN stage_measurements.position IS 'of the record in the journal';
COMMENT ON COLUMN stage_measurements.stage IS 'action_index of the last action applied';
COMMENT ON COLUMN stage_measurements.attempt IS 'from 1: how often that action was tried';
COMMENT ON COLUMN stage_measurements.artifact_id IS 'joins artifacts';
COMMENT ON COLUMN stage_measurements.metric IS 'such as accuracy or perplexity';
COMMENT ON COLUMN stage_measurements.value IS 'in unit';
COMMENT ON COLUMN stage_measurements.unit IS 'of value';
COMMENT ON COLUMN stage_measurements.direction IS 'maximize or minimize';
COMMENT ON COLUMN stage_measurements.n IS 'samples behind the value';
COMMENT ON COLUMN stage_measurements.standard_error IS 'of value; NULL: not known';
COMMENT ON COLUMN stage_measurements.fidelity IS 'rung of the evaluation, such as proxy';
COMMENT ON COLUMN stage_measurements.task IS 'NULL: the mean over tasks';
COMMENT ON COLUMN stage_measurements.slice IS 'part of a task; NULL: all of it';
