-- A problem names a file as its record does, below the store: elsewhere the store says the same.
UPDATE problems SET problem = regexp_replace(
  problem, '^(Cannot (?:trust|read)) (?:/.*?)?/(samples/[^/]+/[^/]+\.(?:parquet|jsonl))', '\1 \2');
COMMENT ON COLUMN problems.problem IS 'what was found, with paths below the store''s folder';
