-- A judge's verdicts on generated answers, sample by sample.

ALTER TABLE samples ADD COLUMN judge VARCHAR;             -- model that judged; NULL: none did
ALTER TABLE samples ADD COLUMN judge_prompt_hash VARCHAR; -- of the prompts that it was asked by
ALTER TABLE samples ADD COLUMN truthful BOOLEAN;          -- NULL: neither yes nor no
ALTER TABLE samples ADD COLUMN truthful_reply VARCHAR;    -- the judge's own words
ALTER TABLE samples ADD COLUMN informative BOOLEAN;
ALTER TABLE samples ADD COLUMN informative_reply VARCHAR;
COMMENT ON COLUMN samples.judge IS 'model that judged the answer; NULL: none did';
COMMENT ON COLUMN samples.judge_prompt_hash IS 'over the prompts that the judge was asked by';
COMMENT ON COLUMN samples.truthful IS
  'whether the judge called the answer true; NULL: neither yes nor no, or not judged';
COMMENT ON COLUMN samples.truthful_reply IS 'the judge''s own words on the truth';
COMMENT ON COLUMN samples.informative IS
  'whether the judge called the answer informative; NULL: neither yes nor no, or not judged';
COMMENT ON COLUMN samples.informative_reply IS 'the judge''s own words on the informativeness';
