-- Which of several figures of a trial and metric counts: full before other rungs, measured before
-- estimated, over all tasks before one task, the later one; speed, memory and energy in the study's
-- own runtime only. Latency is what a comparison has it as: the ratio to the baseline of the same
-- minutes times one baseline of the study, its repeats and its error with it.
CREATE VIEW headline AS
SELECT m.* REPLACE (
  m.value * compared AS value,
  CASE WHEN scaled THEN c.latency_ms_standard_error ELSE m.standard_error END AS standard_error,
  m.minimum * compared AS minimum, m.lower_quartile * compared AS lower_quartile,
  m.upper_quartile * compared AS upper_quartile, m.maximum * compared AS maximum
)
FROM measurements m JOIN studies s USING (study_id)
LEFT JOIN compared_trials c ON c.study_id = m.study_id AND c.trial_id = m.trial_id
CROSS JOIN LATERAL (SELECT m.metric = 'latency_ms' AND m.provenance = 'measured'
  AND c.latency_ms IS NOT NULL AND m.value > 0 AS scaled) x
CROSS JOIN LATERAL (SELECT CASE WHEN scaled THEN c.latency_ms / m.value ELSE 1 END AS compared) y
WHERE m.slice IS NULL
  AND (m.runtime IS NULL OR m.metric IN ('accuracy', 'perplexity') OR m.runtime = s.runtime)
QUALIFY row_number() OVER (
  PARTITION BY m.study_id, m.trial_id, m.metric
  ORDER BY m.fidelity = 'full' DESC, m.provenance = 'measured' DESC, m.task IS NULL DESC,
    m.rowid DESC
) = 1;

COMMENT ON VIEW headline IS
  'One figure per trial and metric: the one that a comparison uses.';
COMMENT ON COLUMN headline.study_id IS 'the study it belongs to';
COMMENT ON COLUMN headline.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN headline.position IS 'byte of the journal where its record begins: the true order';
COMMENT ON COLUMN headline.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN headline.value IS
  'as measured, NaN and infinities kept; latency_ms as it is compared, as everywhere: measurements has what was timed';
COMMENT ON COLUMN headline.unit IS 'such as 1, ms/token or bytes';
COMMENT ON COLUMN headline.direction IS 'maximize or minimize';
COMMENT ON COLUMN headline.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN headline.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN headline.fidelity IS
  'rung of the evaluation: proxy, full or the name of one between, which quality was measured on';
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
