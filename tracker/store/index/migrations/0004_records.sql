-- Columns and tables for what records of version 2 say: where each run of a study came from, notes,
-- logs, layers, energy, every record as an event. An older database is made anew from its journal.

DROP VIEW lineage;
DROP VIEW failures;
DROP VIEW leaderboard;
DROP VIEW trial_summary;
DROP VIEW retention;
DROP VIEW pareto;
DROP VIEW headline;

ALTER TABLE study_tasks ADD COLUMN chance DOUBLE;  -- score of guessing; NULL where there is none
ALTER TABLE samples ADD COLUMN seconds DOUBLE;     -- that the model took for it
ALTER TABLE alerts ADD COLUMN outcome VARCHAR;     -- what became of the work that it warned of
ALTER TABLE episodes ADD COLUMN reward DOUBLE;     -- of the trial as the turn ended

ALTER TABLE trials ADD COLUMN readable_id VARCHAR; -- such as s03-gptq-4bit-g64, or baseline
ALTER TABLE trials ADD COLUMN command VARCHAR;
ALTER TABLE trials ADD COLUMN code_commit VARCHAR;
ALTER TABLE trials ADD COLUMN pare_version VARCHAR;
ALTER TABLE trials ADD COLUMN model_revision VARCHAR;
ALTER TABLE trials ADD COLUMN environment_lock VARCHAR; -- joins environments

ALTER TABLE environments ADD COLUMN position BIGINT;
ALTER TABLE environments ADD COLUMN environment_lock VARCHAR; -- one value for all of a run's pins

-- One row each time that a study was opened or taken up again.
CREATE TABLE runs (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, started_at TIMESTAMP,
  resumed BOOLEAN NOT NULL, command VARCHAR, code_commit VARCHAR, pare_version VARCHAR,
  model_revision VARCHAR, environment_lock VARCHAR
);

-- The reward of an episode's trial, term by term, as the turn ended.
CREATE TABLE episode_rewards (
  study_id VARCHAR NOT NULL, number BIGINT NOT NULL, term VARCHAR NOT NULL,
  weight DOUBLE NOT NULL, normalised DOUBLE, contribution DOUBLE NOT NULL, note VARCHAR
);

-- Where each trial that may stand on a front stands; kept up by the sink.
CREATE TABLE front_points (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL,
  rank BIGINT NOT NULL,               -- 0: the front; 1: the front without those; …
  contribution DOUBLE                 -- hypervolume that the front loses without it
);

-- How a written artifact differs from its parent, layer by layer.
CREATE TABLE layer_sensitivities (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, artifact_id VARCHAR NOT NULL,
  position BIGINT NOT NULL, layer_index BIGINT NOT NULL, layer VARCHAR NOT NULL,
  metric VARCHAR NOT NULL, value DOUBLE NOT NULL, unit VARCHAR NOT NULL
);

CREATE TABLE energy_readings (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  happened_at TIMESTAMP, stage VARCHAR NOT NULL, reader VARCHAR NOT NULL,
  joules DOUBLE NOT NULL, seconds DOUBLE NOT NULL, idle_watts DOUBLE NOT NULL,
  tokens BIGINT NOT NULL
);

CREATE TABLE logs (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  written_at TIMESTAMP, stage VARCHAR NOT NULL, path VARCHAR NOT NULL, bytes BIGINT NOT NULL,
  sha256 VARCHAR NOT NULL
);

CREATE TABLE notes (
  study_id VARCHAR NOT NULL, trial_id VARCHAR, note_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  written_at TIMESTAMP, text VARCHAR NOT NULL
);

-- Every record of the journal in its order.
CREATE TABLE events (
  position BIGINT NOT NULL, happened_at TIMESTAMP, type VARCHAR NOT NULL,
  study_id VARCHAR NOT NULL, trial_id VARCHAR
);
