-- Every record of every journal.
CREATE TABLE events (
  journal VARCHAR NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP, type VARCHAR NOT NULL,
  study_id VARCHAR NOT NULL, trial_id VARCHAR
);

CREATE TABLE notes (
  study_id VARCHAR NOT NULL, trial_id VARCHAR, note_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  written_at TIMESTAMP, text VARCHAR NOT NULL
);

CREATE TABLE alerts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR, position BIGINT NOT NULL, happened_at TIMESTAMP,
  condition VARCHAR NOT NULL, evidence VARCHAR NOT NULL, action VARCHAR NOT NULL,
  outcome VARCHAR
);

CREATE TABLE resources (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL, happened_at TIMESTAMP,
  call VARCHAR NOT NULL, seconds DOUBLE NOT NULL, rss_bytes BIGINT NOT NULL,
  cpu_utilisation DOUBLE NOT NULL, free_memory_bytes BIGINT NOT NULL,
  gpu_memory_bytes BIGINT, gpu_utilisation DOUBLE, power_watts DOUBLE
);

CREATE TABLE logs (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, position BIGINT NOT NULL,
  written_at TIMESTAMP, call VARCHAR NOT NULL, path VARCHAR NOT NULL, bytes BIGINT NOT NULL,
  sha256 VARCHAR NOT NULL
);
