-- A checksum of the journal's bytes before the offset: it tells whether the journal is still the one
-- that was read, also where it was cut and has grown longer since. NULL: not known.
ALTER TABLE sink_offset ADD COLUMN journal_mark VARCHAR;
