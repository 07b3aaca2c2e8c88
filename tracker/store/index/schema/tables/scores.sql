-- What scorers beside a task's own make of answers that are kept: nothing here is ever replaced but
-- with the answers themselves, so that a later scoring stands beside an earlier one.
CREATE TABLE scorings (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL, params VARCHAR,
  position BIGINT NOT NULL, scored_at TIMESTAMP,
  metric VARCHAR NOT NULL, slice VARCHAR, value DOUBLE NOT NULL, unit VARCHAR NOT NULL,
  direction VARCHAR NOT NULL, n BIGINT NOT NULL, standard_error DOUBLE, method VARCHAR,
  protocol VARCHAR
);
COMMENT ON TABLE scorings IS
  'a figure of kept answers by a scorer beside the task''s own: one row a metric and slice';

CREATE TABLE scores (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL, position BIGINT NOT NULL,
  metric VARCHAR NOT NULL, score DOUBLE, parsed_answer VARCHAR, why VARCHAR
);
COMMENT ON TABLE scores IS
  'what a scorer beside the task''s own gave a sample, by metric; the task''s own is samples.score';

CREATE TABLE scored_again (
  study_id VARCHAR NOT NULL, task VARCHAR NOT NULL, scorer VARCHAR NOT NULL,
  scorer_version VARCHAR NOT NULL, params VARCHAR, beside_because VARCHAR,
  evaluations BIGINT NOT NULL, scored_at TIMESTAMP, position BIGINT NOT NULL
);
COMMENT ON TABLE scored_again IS
  'kept answers of a study that were scored again, a row a scoring; its figures are in scorings';

CREATE TABLE verdicts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL, position BIGINT,
  question VARCHAR NOT NULL, judge VARCHAR NOT NULL, prompt_hash VARCHAR, rubric_version VARCHAR,
  verdict VARCHAR, score DOUBLE, reply VARCHAR, prompt_tokens BIGINT, reply_tokens BIGINT,
  cost DOUBLE, obtained VARCHAR, cut_characters BIGINT
);
COMMENT ON TABLE verdicts IS 'what a judge said to one question about one answer';

CREATE TABLE judge_checks (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL,
  rubric_version VARCHAR, judges VARCHAR NOT NULL, position BIGINT NOT NULL, checked_at TIMESTAMP,
  answers BIGINT NOT NULL, labels BIGINT NOT NULL, judged_score DOUBLE, corrected_score DOUBLE,
  corrected_low DOUBLE, corrected_high DOUBLE, position_bias DOUBLE, consistent_pairs DOUBLE,
  length_bias DOUBLE, own_excess DOUBLE
);
COMMENT ON TABLE judge_checks IS 'how good a judge was found to be on a trial''s answers, a row a check';

CREATE TABLE judge_agreement (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL,
  position BIGINT NOT NULL, against VARCHAR NOT NULL, n BIGINT NOT NULL, same_share DOUBLE NOT NULL,
  judge_excess DOUBLE NOT NULL, kappa DOUBLE, kappa_low DOUBLE, kappa_high DOUBLE,
  alpha DOUBLE, alpha_low DOUBLE, alpha_high DOUBLE
);
COMMENT ON TABLE judge_agreement IS
  'how far a judge agrees with labels, the rule, a second judge or itself: of a check each';
