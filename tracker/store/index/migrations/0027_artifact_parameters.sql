-- How many parameters an artifact has: fewer than its baseline where a method cut some away.
ALTER TABLE artifacts ADD COLUMN parameters BIGINT;
COMMENT ON COLUMN artifacts.parameters IS
  'of its own model, as its files have it; NULL in records of earlier versions';
