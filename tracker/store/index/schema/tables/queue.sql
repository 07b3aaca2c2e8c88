-- The queue beside the store: made from its own journal, `queue/journal.jsonl`, and from the attempts'
-- checklists. Rows of a job are written anew whenever its journal tells more of it.
CREATE TABLE queue_jobs (
  job_id VARCHAR NOT NULL, title VARCHAR NOT NULL, priority VARCHAR NOT NULL,
  job_state VARCHAR NOT NULL, reason VARCHAR NOT NULL, study_id VARCHAR, kind VARCHAR NOT NULL,
  model_name VARCHAR, dataset VARCHAR, work_size VARCHAR NOT NULL, asked_engine VARCHAR,
  cpu DOUBLE NOT NULL, cards BIGINT NOT NULL, asked_memory_gb DOUBLE, submitted_at TIMESTAMP NOT NULL,
  finished_at TIMESTAMP
);
COMMENT ON TABLE queue_jobs IS 'jobs of the queue: a row per job';

CREATE TABLE queue_attempts (
  job_id VARCHAR NOT NULL, attempt BIGINT NOT NULL, engine VARCHAR NOT NULL, machine VARCHAR NOT NULL,
  cpu DOUBLE NOT NULL, cards BIGINT NOT NULL, asked_memory_gb DOUBLE, planned_at TIMESTAMP NOT NULL,
  started_at TIMESTAMP, finished_at TIMESTAMP, ended_how VARCHAR, exit_code BIGINT,
  reason VARCHAR NOT NULL, seconds DOUBLE, price DOUBLE
);
COMMENT ON TABLE queue_attempts IS 'every attempt at a job of the queue: where, when, and how it ended';

CREATE TABLE queue_checks (
  job_id VARCHAR NOT NULL, attempt BIGINT NOT NULL, looked VARCHAR NOT NULL, check_name VARCHAR NOT NULL,
  passed BOOLEAN, found VARCHAR NOT NULL
);
COMMENT ON TABLE queue_checks IS 'lines of the checklists of attempts';

CREATE TABLE queue_criteria (
  job_id VARCHAR NOT NULL, criterion VARCHAR NOT NULL, judged VARCHAR, reason VARCHAR
);
COMMENT ON TABLE queue_criteria IS 'success criteria of jobs, and what came of each';

CREATE TABLE queue_actions (
  job_id VARCHAR NOT NULL, attempt BIGINT NOT NULL, happened_at TIMESTAMP NOT NULL,
  condition VARCHAR NOT NULL, evidence VARCHAR NOT NULL, remedy VARCHAR NOT NULL, remedy_limit VARCHAR,
  outcome VARCHAR NOT NULL
);
COMMENT ON TABLE queue_actions IS 'what was done about jobs without a person, and what came of it';

-- How much of the queue's journal is in here, and how long it was then: a row, or none.
CREATE TABLE queue_place (
  journal_offset BIGINT NOT NULL, journal_bytes BIGINT NOT NULL, journal_mark VARCHAR
);
