-- The score of guessing stands with each figure; what a part of a benchmark counts by stands with its
-- samples and its own figure, so that SQL can repeat every weighed mean.

ALTER TABLE study_tasks ADD COLUMN weight DOUBLE;        -- in the mean over tasks
ALTER TABLE study_tasks ADD COLUMN strata VARCHAR;       -- by_rows: parts count by their rows
ALTER TABLE measurements ADD COLUMN chance DOUBLE;       -- score of guessing; NULL: not known
ALTER TABLE measurements ADD COLUMN stratum_rows BIGINT; -- of a slice: rows of the part in the data
ALTER TABLE samples ADD COLUMN chance DOUBLE;
ALTER TABLE samples ADD COLUMN stratum VARCHAR;
ALTER TABLE samples ADD COLUMN stratum_rows BIGINT;
COMMENT ON COLUMN study_tasks.weight IS 'how much it counts in the mean over tasks';
COMMENT ON COLUMN study_tasks.strata IS
  'by_rows: each part of the task counts by its rows; NULL: every sample alike';
COMMENT ON COLUMN measurements.chance IS
  'score of guessing on the samples that were asked; NULL: not known, or no accuracy';
COMMENT ON COLUMN measurements.stratum_rows IS
  'of a slice: rows of the part in the benchmark''s data, by which a mean over parts weighs';
COMMENT ON COLUMN samples.chance IS 'score of guessing; NULL: not known';
COMMENT ON COLUMN samples.stratum IS
  'part of the benchmark that it belongs to, such as an MMLU subject; NULL: it has none';
COMMENT ON COLUMN samples.stratum_rows IS
  'rows of that part in the benchmark''s data, where means weigh by them; NULL: all count alike';

-- Made again: it has every column of measurements.
CREATE OR REPLACE VIEW headline AS
SELECT m.*
FROM measurements m JOIN studies s USING (study_id)
WHERE m.slice IS NULL
  AND (m.runtime IS NULL OR m.metric IN ('accuracy', 'perplexity') OR m.runtime = s.runtime)
QUALIFY row_number() OVER (
  PARTITION BY m.study_id, m.trial_id, m.metric
  ORDER BY m.fidelity = 'full' DESC, m.provenance = 'measured' DESC, m.task IS NULL DESC,
    m.rowid DESC
) = 1;
COMMENT ON VIEW headline IS
  'One figure a trial and metric: the one that a comparison uses.';
COMMENT ON COLUMN headline.study_id IS 'the study it belongs to';
COMMENT ON COLUMN headline.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN headline.position IS 'byte of the journal where its record begins: the true order';
COMMENT ON COLUMN headline.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN headline.value IS 'as measured; NaN and infinities are kept';
COMMENT ON COLUMN headline.unit IS 'such as 1, ms/token or bytes';
COMMENT ON COLUMN headline.direction IS 'maximize or minimize';
COMMENT ON COLUMN headline.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN headline.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN headline.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN headline.provenance IS 'measured, estimated or emulated';
COMMENT ON COLUMN headline.task IS 'benchmark; NULL: over all primary tasks, or of no task';
COMMENT ON COLUMN headline.task_version IS 'version of the benchmark';
COMMENT ON COLUMN headline.slice IS 'part of a task, such as an MMLU subject';
COMMENT ON COLUMN headline.runtime IS 'what executed the model';
COMMENT ON COLUMN headline.inference_precision IS 'such as f32 or bf16';
COMMENT ON COLUMN headline.kv_precision IS 'precision of the KV cache';
COMMENT ON COLUMN headline.activation_group IS 'group of dynamic activation quantization; 0: none';
COMMENT ON COLUMN headline.device IS 'cpu or cuda';
COMMENT ON COLUMN headline.method IS 'how it was read, such as rapl or VmHWM';
COMMENT ON COLUMN headline.minimum IS 'least of the repeats behind the value; NULL where there are none';
COMMENT ON COLUMN headline.lower_quartile IS 'of the repeats behind the value';
COMMENT ON COLUMN headline.upper_quartile IS 'of the repeats behind the value';
COMMENT ON COLUMN headline.maximum IS 'largest of the repeats behind the value';
COMMENT ON COLUMN headline.chance IS
  'score of guessing on the samples that were asked; NULL: not known, or no accuracy';
COMMENT ON COLUMN headline.stratum_rows IS 'NULL: it is the figure of no part';

-- Made again: the core's definition of what is left above chance (core/evidence/retention.ts), which
-- a test holds it to. A figure of an earlier version has the chance that its study's tasks name.
CREATE OR REPLACE VIEW retention AS
WITH chances AS (
  SELECT study_id, task, chance FROM study_tasks WHERE chance IS NOT NULL
  UNION ALL
  -- The figure over all tasks is the mean of the primary ones by their weights; so is its chance.
  SELECT study_id, NULL, sum(weight * chance) / sum(weight) FROM study_tasks
  WHERE "primary" GROUP BY study_id HAVING count(*) = count(chance)
),
keys AS (
  SELECT study_id, trial_id, fidelity, task, protocol FROM protocols
  UNION ALL
  SELECT study_id, trial_id, fidelity, NULL, string_agg(protocol, ' ' ORDER BY task)
  FROM protocols GROUP BY study_id, trial_id, fidelity
),
bases AS MATERIALIZED (
  SELECT b.* FROM measurements b JOIN trials t USING (study_id, trial_id)
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
compared AS (
  SELECT m.*, t.readable_id, b.value AS baseline, b.standard_error AS baseline_standard_error,
    coalesce(b.chance, c.chance) AS guessing,
    -- 95 %; samples that all score alike: Wilson's bound of so many right answers, n / (n + z^2).
    CASE WHEN b.standard_error = 0 THEN b.value * b.n / (b.n + 1.959963984540054 ^ 2)
      ELSE b.value - 1.959963984540054 * b.standard_error END AS baseline_low
  FROM measurements m
  JOIN bases b ON b.study_id = m.study_id AND b.metric = m.metric AND b.fidelity = m.fidelity
    AND b.task IS NOT DISTINCT FROM m.task AND b.task_version IS NOT DISTINCT FROM m.task_version
    AND b.slice IS NOT DISTINCT FROM m.slice AND b.runtime IS NOT DISTINCT FROM m.runtime
  JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id AND t.strategy_id IS NOT NULL
  LEFT JOIN chances c ON c.study_id = m.study_id AND c.task IS NOT DISTINCT FROM m.task
    AND m.metric = 'accuracy'
  LEFT JOIN keys own ON own.study_id = m.study_id AND own.trial_id = m.trial_id
    AND own.fidelity = m.fidelity AND own.task IS NOT DISTINCT FROM m.task
    AND (m.task IS NOT NULL OR m.metric IN ('accuracy', 'perplexity'))
  LEFT JOIN keys theirs ON theirs.study_id = b.study_id AND theirs.trial_id = b.trial_id
    AND theirs.fidelity = b.fidelity AND theirs.task IS NOT DISTINCT FROM b.task
  WHERE own.protocol IS NULL OR theirs.protocol IS NULL OR own.protocol = theirs.protocol
),
judged AS (
  SELECT *,
    CASE
      WHEN guessing IS NULL THEN CASE WHEN metric LIKE '%accuracy' THEN 'chance is not known' END
      WHEN baseline_standard_error IS NULL THEN 'the baseline has no standard error'
      WHEN baseline_low <= guessing THEN 'the baseline''s interval includes chance' END
      AS undefined_because
  FROM compared
)
SELECT study_id, trial_id, readable_id, metric, task, slice, fidelity, runtime, value, baseline,
  value / nullif(baseline, 0) AS ratio,
  CASE direction WHEN 'maximize' THEN baseline - value ELSE value - baseline END AS degradation,
  guessing AS chance,
  CASE WHEN undefined_because IS NULL THEN (value - guessing) / (baseline - guessing) END
    AS chance_corrected,
  undefined_because, standard_error, baseline_standard_error, n, unit
FROM judged;

COMMENT ON VIEW retention IS
  'Each figure beside the baseline''s under the same protocol, fidelity and runtime.';
COMMENT ON COLUMN retention.study_id IS 'the study it belongs to';
COMMENT ON COLUMN retention.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN retention.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN retention.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN retention.task IS 'benchmark; NULL: over all primary tasks, or of no task';
COMMENT ON COLUMN retention.slice IS 'part of a task, such as an MMLU subject';
COMMENT ON COLUMN retention.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN retention.runtime IS 'what executed the model';
COMMENT ON COLUMN retention.value IS 'as measured; NaN and infinities are kept';
COMMENT ON COLUMN retention.baseline IS 'the baseline''s figure';
COMMENT ON COLUMN retention.ratio IS 'value / baseline; NULL where the baseline is 0';
COMMENT ON COLUMN retention.degradation IS 'how much worse than the baseline, absolute; negative: better';
COMMENT ON COLUMN retention.chance IS
  'score of guessing; NULL where the metric has none or nobody knows it';
COMMENT ON COLUMN retention.chance_corrected IS
  '(value - chance) / (baseline - chance); NULL where undefined_because says why';
COMMENT ON COLUMN retention.undefined_because IS
  'why an accuracy has no chance_corrected, in words; NULL where it has one';
COMMENT ON COLUMN retention.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN retention.baseline_standard_error IS 'standard error of the baseline''s figure';
COMMENT ON COLUMN retention.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN retention.unit IS 'such as 1, ms/token or bytes';
