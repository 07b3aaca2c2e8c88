-- What assistants asked by `pare mcp`: read from `assistant/calls.jsonl` beside the runs.
CREATE TABLE assistant_calls (
  called_at TIMESTAMP NOT NULL, client VARCHAR NOT NULL, tool VARCHAR NOT NULL, arguments VARCHAR NOT NULL,
  outcome VARCHAR NOT NULL, reason VARCHAR, answer_chars BIGINT NOT NULL, seconds DOUBLE NOT NULL
);
COMMENT ON TABLE assistant_calls IS 'every call of an assistant by pare mcp: a row per call';

-- How much of that file is in here, and how long it was then: a row, or none.
CREATE TABLE assistant_place (file_offset BIGINT NOT NULL, file_bytes BIGINT NOT NULL);
