-- What came of running a recorded trial again (pare reproduce): a row a figure.
CREATE TABLE drift (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, reproduction_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, reproduced_at TIMESTAMP, state VARCHAR NOT NULL,
  metric VARCHAR NOT NULL, task VARCHAR, fidelity VARCHAR, unit VARCHAR NOT NULL,
  recorded DOUBLE, again DOUBLE, interval_low DOUBLE, interval_high DOUBLE,
  verdict VARCHAR NOT NULL, reason VARCHAR, differs VARCHAR[] NOT NULL
);

COMMENT ON TABLE drift IS 'figures of a trial that was run again beside the recorded ones, a row a figure';
COMMENT ON COLUMN drift.reproduction_id IS 'folder of the repetition below reproductions/ of PARE_HOME';
COMMENT ON COLUMN drift.state IS 'of the repetition''s trial, such as completed';
COMMENT ON COLUMN drift.metric IS 'artifact: its files with the same bytes; answers: samples answered alike; else a measurement';
COMMENT ON COLUMN drift.recorded IS 'the figure of the study';
COMMENT ON COLUMN drift.again IS 'the repetition''s; NULL: it has none';
COMMENT ON COLUMN drift.interval_low IS '95 % of all the trial''s figures together, where another reading lies; NULL: no error is recorded';
COMMENT ON COLUMN drift.interval_high IS '95 % of all the trial''s figures together, where another reading lies; NULL: no error is recorded';
COMMENT ON COLUMN drift.verdict IS 'equal, within_noise, different or not_compared';
COMMENT ON COLUMN drift.reason IS 'why it is not compared, or what is missing';
COMMENT ON COLUMN drift.differs IS 'what the repetition was made with that the study was not: code, environment, model, data, hardware';
