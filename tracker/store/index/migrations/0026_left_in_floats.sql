-- What no method has touched, and whose loader takes the directory.
ALTER TABLE artifacts ADD COLUMN float_bytes BIGINT;
ALTER TABLE artifacts ADD COLUMN float_parts VARCHAR;
ALTER TABLE artifacts ADD COLUMN loader VARCHAR;
COMMENT ON COLUMN artifacts.float_bytes IS
  'bytes of tensors that no action has touched, by the formula; NULL of a baseline and in old records';
COMMENT ON COLUMN artifacts.float_parts IS
  'what they are, with their share of formula_bytes, most first: embedding 66.1 %, norm 0.1 %';
COMMENT ON COLUMN artifacts.loader IS
  'whose loader takes the directory: transformers, or pare where transformers cannot; NULL of a baseline and in old records';
