-- Which schema made this index: the one row that every pare, older or newer, looks for.
CREATE TABLE schema_migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL);

-- How much of each journal on the shelf is in here; changed in the same transaction as the rows.
CREATE TABLE journals (
  journal VARCHAR NOT NULL, study_id VARCHAR, journal_offset BIGINT NOT NULL, journal_mark VARCHAR
);
COMMENT ON TABLE journals IS 'How far each run''s journal is read: a row per journal.';
COMMENT ON COLUMN journals.journal IS 'its path below the store, such as runs/llama/journal.jsonl';
COMMENT ON COLUMN journals.study_id IS
  'the study it tells of; NULL: the one journal of a store of earlier versions, of many studies';
COMMENT ON COLUMN journals.journal_offset IS 'bytes that are read';
COMMENT ON COLUMN journals.journal_mark IS
  'checksum of the bytes before the offset: whether the journal is still the one that was read; NULL: not known';

-- What could not be taken over: a damaged record, a sample file that is gone or changed.
CREATE TABLE problems (
  journal VARCHAR NOT NULL, position BIGINT NOT NULL, trial_id VARCHAR, problem VARCHAR NOT NULL
);
COMMENT ON COLUMN problems.journal IS 'where the record stands, as journals.journal has it';
COMMENT ON COLUMN problems.problem IS 'what was found, with paths below the store''s folder';

-- What a journal does not say any more, as its record or its samples file is damaged, and an earlier
-- index still held: its rows stand in the other tables, carried over when the index was made anew.
CREATE TABLE recovered (
  journal VARCHAR NOT NULL, position BIGINT NOT NULL, type VARCHAR NOT NULL, study_id VARCHAR NOT NULL,
  trial_id VARCHAR, reason VARCHAR NOT NULL
);
COMMENT ON TABLE recovered IS
  'Records that their journal has no longer whole, and an earlier index still held: rows of their trial, or of their study where they are about none, are that index''s.';
COMMENT ON COLUMN recovered.journal IS 'where the record stands, as journals.journal has it';
COMMENT ON COLUMN recovered.position IS 'place of the record in the journal';
COMMENT ON COLUMN recovered.type IS 'what it recorded, such as trial_closed';
COMMENT ON COLUMN recovered.study_id IS 'the study it belongs to';
COMMENT ON COLUMN recovered.trial_id IS 'the trial it is about; NULL: the study';
COMMENT ON COLUMN recovered.reason IS 'why the journal does not say it any more';
