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
