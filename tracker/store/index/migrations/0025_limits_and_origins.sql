-- Limits that were set anew when a study was taken up; who gave a knob its value; the weight of CO2.

CREATE TABLE limit_changes (
  study_id VARCHAR NOT NULL, position BIGINT NOT NULL, changed_at TIMESTAMP,
  limit_name VARCHAR NOT NULL, value DOUBLE NOT NULL
);
COMMENT ON TABLE limit_changes IS
  'Limits that resuming a study set anew; the last of a name is in force, and stands in studies.';
COMMENT ON COLUMN limit_changes.study_id IS 'the study it belongs to';
COMMENT ON COLUMN limit_changes.position IS 'of the record in the journal; its run has the same';
COMMENT ON COLUMN limit_changes.changed_at IS 'UTC';
COMMENT ON COLUMN limit_changes.limit_name IS
  'budget_seconds, gpu_hours, max_trials, max_full_evaluations or convergence_episodes';
COMMENT ON COLUMN limit_changes.value IS 'seconds, hours or a count, as the name says';

COMMENT ON COLUMN studies.budget_seconds IS
  'wall time from the baseline on, as set last; NULL: none was set';
COMMENT ON COLUMN studies.gpu_hours IS 'as set last; NULL: none was set';
COMMENT ON COLUMN studies.max_trials IS 'as set last; NULL: none was set';

ALTER TABLE studies ADD COLUMN weight_co2 DOUBLE;
COMMENT ON COLUMN studies.weight_co2 IS 'of the reward; NULL: a study of an earlier version, as 0';
ALTER TABLE study_tasks ADD COLUMN available_samples BIGINT;
COMMENT ON COLUMN study_tasks.available_samples IS
  'samples that exist; NULL: a study of an earlier version';

COMMENT ON COLUMN knobs.requested IS
  'as the strategy had it, such as auto; NULL: the strategy did not name it';
COMMENT ON COLUMN knobs.resolved_by IS
  'who gave the value: user, in the request''s own strategies; seed, a method''s first proposal; sampler, chosen in the search; method, its choice for auto; default. Studies of earlier versions say user for seed and sampler too; NULL: the trial was not begun';
