-- Which schema made this index: the one row that every pare, older or newer, looks for.
CREATE TABLE schema_migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL);

-- How much of the journal is in here; changed in the same transaction as the rows. The mark is a
-- checksum of the journal's bytes before the offset: it tells whether the journal is still the one
-- that was read, also where it was cut and has grown longer since. NULL: not known.
CREATE TABLE sink_offset (
  journal_offset BIGINT NOT NULL,
  journal_mark VARCHAR
);
INSERT INTO sink_offset VALUES (0, NULL);

-- What could not be taken over: a damaged record, a sample file that is gone or changed.
CREATE TABLE problems (
  position BIGINT NOT NULL, trial_id VARCHAR, problem VARCHAR NOT NULL
);
COMMENT ON COLUMN problems.problem IS 'what was found, with paths below the store''s folder';

-- What the journal does not say any more, as its record or its samples file is damaged, and an earlier
-- index still held: its rows stand in the other tables, carried over when the index was made anew.
CREATE TABLE recovered (
  position BIGINT NOT NULL, type VARCHAR NOT NULL, study_id VARCHAR NOT NULL, trial_id VARCHAR,
  reason VARCHAR NOT NULL
);
COMMENT ON TABLE recovered IS
  'Records that the journal has no longer whole, and an earlier index still held: rows of their trial, or of their study where they are about none, are that index''s.';
COMMENT ON COLUMN recovered.position IS 'place of the record in the journal';
COMMENT ON COLUMN recovered.type IS 'what it recorded, such as trial_closed';
COMMENT ON COLUMN recovered.study_id IS 'the study it belongs to';
COMMENT ON COLUMN recovered.trial_id IS 'the trial it is about; NULL: the study';
COMMENT ON COLUMN recovered.reason IS 'why the journal does not say it any more';
