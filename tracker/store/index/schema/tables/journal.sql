-- Which schema made this index: the one row that every pare, older or newer, looks for.
CREATE TABLE schema_migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL);

-- How much of each journal on the shelf is in here; changed in the same transaction as the rows.
CREATE TABLE journals (
  journal VARCHAR NOT NULL, study_id VARCHAR, journal_offset BIGINT NOT NULL, journal_mark VARCHAR
);
COMMENT ON TABLE journals IS 'How far each run''s journal is read: a row per journal.';

-- What could not be taken over: a damaged record, a sample file that is gone or changed.
CREATE TABLE problems (
  journal VARCHAR NOT NULL, position BIGINT NOT NULL, trial_id VARCHAR, problem VARCHAR NOT NULL
);

-- What a journal does not say any more, as its record or its samples file is damaged, and an earlier
-- index still held: its rows stand in the other tables, carried over when the index was made anew.
CREATE TABLE recovered (
  journal VARCHAR NOT NULL, position BIGINT NOT NULL, type VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR, reason VARCHAR NOT NULL
);
COMMENT ON TABLE recovered IS
  'Records that their journal has no longer whole, and an earlier index still held: rows of their trial, or of their study where they are about none, are that index''s.';
