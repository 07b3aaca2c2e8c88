CREATE TABLE stage_decisions (
  study_id VARCHAR NOT NULL, decision_index BIGINT NOT NULL, happened_at TIMESTAMP NOT NULL,
  stage VARCHAR NOT NULL, stage_index BIGINT NOT NULL, attempt BIGINT NOT NULL,
  about VARCHAR NOT NULL, subject VARCHAR,
  value DOUBLE, interval_low DOUBLE, interval_high DOUBLE, threshold DOUBLE, samples BIGINT,
  reference DOUBLE, score DOUBLE, chance DOUBLE,
  decision VARCHAR NOT NULL, by_estimate BOOLEAN NOT NULL, reason VARCHAR NOT NULL,
  from_artifact VARCHAR, to_artifact VARCHAR, adjustment VARCHAR, trial_id VARCHAR
);
COMMENT ON TABLE stage_decisions IS
  'The ledger of a staged run: every check of every attempt at a stage, what was done then, and what was shipped.';
COMMENT ON COLUMN stage_decisions.study_id IS 'the study it belongs to';
COMMENT ON COLUMN stage_decisions.decision_index IS 'its place in the ledger, from 0';
COMMENT ON COLUMN stage_decisions.happened_at IS 'UTC; rows of one attempt have one moment';
COMMENT ON COLUMN stage_decisions.stage IS 'name of the stage; original: before any';
COMMENT ON COLUMN stage_decisions.stage_index IS 'of the stage in its document, from 0; -1: the original';
COMMENT ON COLUMN stage_decisions.attempt IS 'from 1; 0: about what is shipped';
COMMENT ON COLUMN stage_decisions.about IS
  'artifact, size, core, expert, cumulative, critical, edge_of_chaos or ethics: a check; attempt: what is done next; level or shipped: of the run';
COMMENT ON COLUMN stage_decisions.subject IS
  'benchmark, domain/benchmark, rule, kind of failure or level; NULL: the attempt as a whole';
COMMENT ON COLUMN stage_decisions.value IS
  'retention of what lies above chance, an accuracy, or bytes; NULL: no figure decides it';
COMMENT ON COLUMN stage_decisions.interval_low IS
  'of value, 95 % over all looks of an attempt together, from paired samples; NULL: there is none';
COMMENT ON COLUMN stage_decisions.interval_high IS 'the other end';
COMMENT ON COLUMN stage_decisions.threshold IS 'least value that passes; of a size, the parent''s bytes';
COMMENT ON COLUMN stage_decisions.samples IS 'pairs that the value rests on';
COMMENT ON COLUMN stage_decisions.reference IS 'score that the value is a share of';
COMMENT ON COLUMN stage_decisions.score IS 'score of the artifact';
COMMENT ON COLUMN stage_decisions.chance IS 'score of guessing';
COMMENT ON COLUMN stage_decisions.decision IS
  'of a check passed, failed, undecided or not_applicable; of an attempt advance, retry, roll_back, skip or abort; ship';
COMMENT ON COLUMN stage_decisions.by_estimate IS
  'the interval holds the threshold and no more samples could be taken: the value alone decided';
COMMENT ON COLUMN stage_decisions.reason IS 'a sentence with its figures';
COMMENT ON COLUMN stage_decisions.from_artifact IS 'artifact that stood before, or that is left; joins artifacts';
COMMENT ON COLUMN stage_decisions.to_artifact IS
  'artifact that was judged, or that stands from here on; joins artifacts; NULL: none was made';
COMMENT ON COLUMN stage_decisions.adjustment IS
  'knobs that the next attempt sets anew, such as bits=3; NULL: nothing is changed';
COMMENT ON COLUMN stage_decisions.trial_id IS 'trial of the attempt; joins trials; NULL: there is none';
