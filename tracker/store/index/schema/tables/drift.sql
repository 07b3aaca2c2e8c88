-- What came of running a recorded trial again (pare reproduce): a row a figure.
CREATE TABLE drift (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, reproduction_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, reproduced_at TIMESTAMP, state VARCHAR NOT NULL,
  metric VARCHAR NOT NULL, task VARCHAR, fidelity VARCHAR, unit VARCHAR NOT NULL,
  recorded DOUBLE, again DOUBLE, interval_low DOUBLE, interval_high DOUBLE,
  verdict VARCHAR NOT NULL, reason VARCHAR, differs VARCHAR[] NOT NULL
);

COMMENT ON TABLE drift IS 'figures of a trial that was run again beside the recorded ones, a row a figure';
