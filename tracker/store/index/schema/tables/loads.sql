-- Served models under load (pare load): a row a step of a server, and a row a request.
CREATE TABLE loads (
  study_id VARCHAR NOT NULL, server VARCHAR NOT NULL, load_step INTEGER NOT NULL,
  position BIGINT NOT NULL, happened_at TIMESTAMP, model VARCHAR NOT NULL,
  against BOOLEAN NOT NULL, load VARCHAR NOT NULL, level DOUBLE NOT NULL,
  asked_prompt_tokens INTEGER NOT NULL, asked_output_tokens INTEGER NOT NULL,
  requests INTEGER NOT NULL, failed INTEGER NOT NULL, load_seconds DOUBLE NOT NULL,
  requests_per_second DOUBLE NOT NULL, output_tokens_per_second DOUBLE NOT NULL,
  first_token_mean_ms DOUBLE, first_token_p50_ms DOUBLE, first_token_p90_ms DOUBLE,
  first_token_p95_ms DOUBLE, first_token_p99_ms DOUBLE,
  between_tokens_mean_ms DOUBLE, between_tokens_p50_ms DOUBLE, between_tokens_p90_ms DOUBLE,
  between_tokens_p95_ms DOUBLE, between_tokens_p99_ms DOUBLE,
  request_mean_ms DOUBLE, request_p50_ms DOUBLE, request_p90_ms DOUBLE,
  request_p95_ms DOUBLE, request_p99_ms DOUBLE,
  first_token_limit_ms DOUBLE, between_tokens_limit_ms DOUBLE, goodput DOUBLE,
  late_p95_ms DOUBLE NOT NULL,
  client_requests_per_second DOUBLE NOT NULL, client_tokens_per_second DOUBLE NOT NULL
);

CREATE TABLE load_requests (
  study_id VARCHAR NOT NULL, server VARCHAR NOT NULL, load_step INTEGER NOT NULL,
  position BIGINT NOT NULL, request INTEGER NOT NULL, phase VARCHAR NOT NULL,
  sent_seconds DOUBLE NOT NULL, late_ms DOUBLE NOT NULL,
  first_token_ms DOUBLE, between_tokens_ms DOUBLE, request_ms DOUBLE,
  prompt_tokens INTEGER, output_tokens INTEGER, request_error VARCHAR
);

COMMENT ON TABLE loads IS 'served models under load (pare load), a row for each rate or concurrency of each server';
COMMENT ON TABLE load_requests IS 'requests of a load, a row each, those of its warm-up too';
