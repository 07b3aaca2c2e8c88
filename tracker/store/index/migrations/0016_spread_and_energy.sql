-- How far repeats lie apart; by what energy was read or estimated and CO2 reckoned.

ALTER TABLE measurements ADD COLUMN minimum DOUBLE;        -- of the repeats behind the value
ALTER TABLE measurements ADD COLUMN lower_quartile DOUBLE;
ALTER TABLE measurements ADD COLUMN upper_quartile DOUBLE;
ALTER TABLE measurements ADD COLUMN maximum DOUBLE;

ALTER TABLE energy_readings ADD COLUMN how VARCHAR;             -- what the reader counts
ALTER TABLE energy_readings ADD COLUMN country VARCHAR;         -- ISO 3166-1 alpha-3, or world
ALTER TABLE energy_readings ADD COLUMN carbon_g_per_kwh DOUBLE;
ALTER TABLE energy_readings ADD COLUMN carbon_year BIGINT;
ALTER TABLE energy_readings ADD COLUMN carbon_source VARCHAR;

ALTER TABLE studies ADD COLUMN cpu_watts_per_thread DOUBLE;     -- what an estimate counts with
ALTER TABLE studies ADD COLUMN cpu_power_source VARCHAR;
ALTER TABLE studies ADD COLUMN country VARCHAR;                 -- ISO 3166-1 alpha-3, or world
ALTER TABLE studies ADD COLUMN carbon_g_per_kwh DOUBLE;
ALTER TABLE studies ADD COLUMN carbon_year BIGINT;
ALTER TABLE studies ADD COLUMN carbon_source VARCHAR;

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

COMMENT ON COLUMN trial_summary.energy_reader IS
  'how energy was read: nvml-counter, nvml-power, rapl or estimate';
COMMENT ON COLUMN leaderboard.energy_reader IS
  'how energy was read: nvml-counter, nvml-power, rapl or estimate';
COMMENT ON COLUMN trial_summary.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, by the study''s country and carbon_g_per_kwh';
COMMENT ON COLUMN leaderboard.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, by the study''s country and carbon_g_per_kwh';

-- Made again: joules say how they were read, and a CPU's are estimated.
CREATE OR REPLACE VIEW cost AS
WITH by_stage AS (
  SELECT study_id, trial_id, stage, max(seconds) AS seconds,
    avg(cpu_utilisation) AS cores, avg(power_watts) AS watts
  FROM resources GROUP BY study_id, trial_id, stage
),
used AS (
  SELECT study_id, trial_id, sum(cores * seconds) / 60 AS cpu_minutes,
    sum(watts * seconds) AS joules
  FROM by_stage GROUP BY study_id, trial_id
),
worked AS (
  SELECT study_id, trial_id, sum(seconds) FILTER (name <> 'loop') / 60 AS minutes
  FROM spans GROUP BY study_id, trial_id
),
trial_cost AS (
  SELECT t.study_id, t.trial_id, w.minutes,
    CASE s.device WHEN 'cuda' THEN w.minutes END AS gpu_minutes, u.cpu_minutes,
    coalesce(u.joules, u.cpu_minutes * 60 * s.cpu_watts_per_thread) AS joules,
    CASE WHEN u.joules IS NOT NULL THEN 'nvml-power'
      WHEN u.cpu_minutes * s.cpu_watts_per_thread IS NOT NULL THEN 'estimate' END AS energy_method
  FROM trials t JOIN studies s USING (study_id)
  LEFT JOIN worked w ON w.study_id = t.study_id AND w.trial_id = t.trial_id
  LEFT JOIN used u ON u.study_id = t.study_id AND u.trial_id = t.trial_id
),
totals AS (
  SELECT study_id, sum(minutes) AS minutes, sum(gpu_minutes) AS gpu_minutes,
    sum(cpu_minutes) AS cpu_minutes,
    -- What was read in two ways is no sum.
    CASE WHEN count(DISTINCT energy_method) = 1 THEN sum(joules) END AS joules,
    count(*) AS trials
  FROM trial_cost GROUP BY study_id
),
members AS (
  SELECT p.study_id, p.trial_id, count(*) OVER (PARTITION BY p.study_id) AS front_size
  FROM front_points p JOIN trials t USING (study_id, trial_id)
  WHERE p.rank = 0 AND t.strategy_id IS NOT NULL
)
SELECT m.study_id, m.trial_id, t.readable_id, c.minutes, c.gpu_minutes, c.cpu_minutes, c.joules,
  c.energy_method,
  m.front_size, s.trials AS study_trials,
  s.minutes / m.front_size AS study_minutes_per_point,
  s.gpu_minutes / m.front_size AS study_gpu_minutes_per_point,
  s.cpu_minutes / m.front_size AS study_cpu_minutes_per_point,
  s.joules / m.front_size AS study_joules_per_point
FROM members m
JOIN trials t ON t.study_id = m.study_id AND t.trial_id = m.trial_id
JOIN trial_cost c ON c.study_id = m.study_id AND c.trial_id = m.trial_id
JOIN totals s ON s.study_id = m.study_id;
COMMENT ON VIEW cost IS
  'What each point of the front cost, and what the whole study cost a point; NULL where it was not measured.';
COMMENT ON COLUMN cost.study_id IS 'the study it belongs to';
COMMENT ON COLUMN cost.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN cost.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN cost.minutes IS 'wall minutes of its stages';
COMMENT ON COLUMN cost.gpu_minutes IS 'minutes that it held the GPU; NULL on a CPU';
COMMENT ON COLUMN cost.cpu_minutes IS 'core-minutes: cores that its stages kept busy, over their time';
COMMENT ON COLUMN cost.joules IS
  'of its stages, read as energy_method says; NULL where neither power nor a CPU''s watts are known';
COMMENT ON COLUMN cost.energy_method IS
  'nvml-power: the GPUs'' power over the stages, idle power in it; estimate: core-minutes times the watts of a busy thread';
COMMENT ON COLUMN cost.front_size IS 'points of the front, the baseline not counted';
COMMENT ON COLUMN cost.study_trials IS 'trials of the study';
COMMENT ON COLUMN cost.study_minutes_per_point IS 'minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_gpu_minutes_per_point IS 'GPU minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_cpu_minutes_per_point IS 'core-minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_joules_per_point IS 'joules of all trials / front_size; NULL where trials were read in different ways';
