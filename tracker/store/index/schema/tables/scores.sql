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
COMMENT ON COLUMN scorings.study_id IS 'the study it belongs to';
COMMENT ON COLUMN scorings.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN scorings.fidelity IS 'rung whose answers were scored';
COMMENT ON COLUMN scorings.task IS 'benchmark';
COMMENT ON COLUMN scorings.scorer IS 'such as final_number';
COMMENT ON COLUMN scorings.scorer_version IS 'figures of two versions are not compared';
COMMENT ON COLUMN scorings.params IS 'its knobs, JSON';
COMMENT ON COLUMN scorings.position IS 'of the record in the journal: which scoring it was';
COMMENT ON COLUMN scorings.scored_at IS 'when';
COMMENT ON COLUMN scorings.metric IS 'such as accuracy';
COMMENT ON COLUMN scorings.slice IS 'part of the task; NULL: the whole';
COMMENT ON COLUMN scorings.value IS 'the figure';
COMMENT ON COLUMN scorings.unit IS 'what it is in';
COMMENT ON COLUMN scorings.direction IS 'maximize or minimize';
COMMENT ON COLUMN scorings.n IS 'samples that could be scored';
COMMENT ON COLUMN scorings.standard_error IS 'of the figure; NULL: of one sample';
COMMENT ON COLUMN scorings.method IS 'in words: scorer, judge, samples left out';
COMMENT ON COLUMN scorings.protocol IS
  'over answers and scorer: equal ones may be compared; NULL: the answers have none';

CREATE TABLE scores (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL, position BIGINT NOT NULL,
  metric VARCHAR NOT NULL, score DOUBLE, parsed_answer VARCHAR, why VARCHAR
);
COMMENT ON TABLE scores IS
  'what a scorer beside the task''s own gave a sample, by metric; the task''s own is samples.score';
COMMENT ON COLUMN scores.study_id IS 'the study it belongs to';
COMMENT ON COLUMN scores.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN scores.fidelity IS 'rung whose answers were scored';
COMMENT ON COLUMN scores.task IS 'benchmark';
COMMENT ON COLUMN scores.sample_id IS 'row number in the task''s data';
COMMENT ON COLUMN scores.sample_hash IS 'over the document''s content';
COMMENT ON COLUMN scores.scorer IS 'such as final_number';
COMMENT ON COLUMN scores.scorer_version IS 'scores of two versions are not compared';
COMMENT ON COLUMN scores.position IS 'of the record in the journal: which scoring it was';
COMMENT ON COLUMN scores.metric IS 'such as accuracy';
COMMENT ON COLUMN scores.score IS 'NULL: it could not be told, why says';
COMMENT ON COLUMN scores.parsed_answer IS 'what the scorer read from the answer';
COMMENT ON COLUMN scores.why IS 'there is no score; NULL: there is one';

CREATE TABLE verdicts (
  study_id VARCHAR NOT NULL, trial_id VARCHAR NOT NULL, fidelity VARCHAR NOT NULL,
  task VARCHAR NOT NULL, sample_id VARCHAR NOT NULL, sample_hash VARCHAR NOT NULL,
  scorer VARCHAR NOT NULL, scorer_version VARCHAR NOT NULL, position BIGINT,
  question VARCHAR NOT NULL, judge VARCHAR NOT NULL, prompt_hash VARCHAR, rubric_version VARCHAR,
  verdict VARCHAR, score DOUBLE, reply VARCHAR, prompt_tokens BIGINT, reply_tokens BIGINT,
  cost DOUBLE
);
COMMENT ON TABLE verdicts IS 'what a judge said to one question about one answer';
COMMENT ON COLUMN verdicts.study_id IS 'the study it belongs to';
COMMENT ON COLUMN verdicts.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN verdicts.fidelity IS 'rung whose answers were judged';
COMMENT ON COLUMN verdicts.task IS 'benchmark';
COMMENT ON COLUMN verdicts.sample_id IS 'row number in the task''s data';
COMMENT ON COLUMN verdicts.sample_hash IS 'over the document''s content';
COMMENT ON COLUMN verdicts.scorer IS 'that asked the judge, such as truthfulqa_judge';
COMMENT ON COLUMN verdicts.scorer_version IS 'of that scorer';
COMMENT ON COLUMN verdicts.position IS
  'of the record in the journal: which scoring it was; NULL: kept with the sample by an earlier version';
COMMENT ON COLUMN verdicts.question IS 'what was asked of the answer: truth, informativeness';
COMMENT ON COLUMN verdicts.judge IS 'the model that judged, as its server names it';
COMMENT ON COLUMN verdicts.prompt_hash IS 'over the prompts that it was asked by';
COMMENT ON COLUMN verdicts.rubric_version IS 'NULL: it goes by no rubric';
COMMENT ON COLUMN verdicts.verdict IS 'what was read from its words, such as yes; NULL: nothing';
COMMENT ON COLUMN verdicts.score IS 'what the verdict counts; NULL: it could not be read';
COMMENT ON COLUMN verdicts.reply IS 'the judge''s own words';
COMMENT ON COLUMN verdicts.prompt_tokens IS 'that it read; NULL: its server does not say';
COMMENT ON COLUMN verdicts.reply_tokens IS 'that it wrote; NULL: its server does not say';
COMMENT ON COLUMN verdicts.cost IS 'US dollars; NULL: nobody counts';
