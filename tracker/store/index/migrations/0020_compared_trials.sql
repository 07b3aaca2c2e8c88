-- Trials are compared by the core's own rules (core/front/comparable.ts), which the sink writes here:
-- latency as its ratio to the baseline of the same minutes, one figure for all trials of one stored
-- form, and the reward and the verdict on max_latency_ms that follow from it. The tables trials,
-- constraint_verdicts and reward_terms keep what the journal said when a trial ended.

ALTER TABLE trials ADD COLUMN stored_form VARCHAR;        -- hash of the stored form that was timed
COMMENT ON COLUMN trials.stored_form IS
  'hash of the stored form that was timed: architecture, formats, names and shapes of tensors; NULL in old records';

ALTER TABLE studies ADD COLUMN front_objectives VARCHAR[];
ALTER TABLE studies ADD COLUMN front_note VARCHAR;
COMMENT ON COLUMN studies.front_objectives IS
  'objectives in force: those of the table objectives that every evaluated trial has a measured figure of';
COMMENT ON COLUMN studies.front_note IS
  'what the front is of and why, where latency is no objective; NULL: quality, latency and bytes';

CREATE TABLE compared_trials (
  study_id VARCHAR NOT NULL,
  trial_id VARCHAR NOT NULL,
  latency_ratio DOUBLE,
  latency_ratio_low DOUBLE,            -- of its 95 % interval
  latency_ratio_high DOUBLE,
  latency_ms DOUBLE,                   -- the ratio times one baseline of the study
  latency_ms_standard_error DOUBLE,
  latency_sessions BIGINT,             -- that timed this stored form
  reward DOUBLE,
  violated VARCHAR[],
  undecided VARCHAR[]
);

ALTER TABLE trial_summaries ADD COLUMN latency_ratio DOUBLE;
ALTER TABLE trial_summaries ADD COLUMN latency_ratio_low DOUBLE;
ALTER TABLE trial_summaries ADD COLUMN latency_ratio_high DOUBLE;

CREATE OR REPLACE VIEW baselines AS
SELECT t.study_id, t.trial_id, q.fidelity, q.accuracy, c.latency_ms
FROM trials t
JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
LEFT JOIN (
  SELECT study_id, trial_id, fidelity, last(value ORDER BY position, rowid) AS accuracy
  FROM measurements
  WHERE metric = 'accuracy' AND task IS NULL AND slice IS NULL
    AND trial_id IN (SELECT trial_id FROM trials WHERE strategy_id IS NULL)
  GROUP BY study_id, trial_id, fidelity
) q ON q.study_id = t.study_id AND q.trial_id = t.trial_id
WHERE t.strategy_id IS NULL AND t.state = 'completed';
COMMENT ON VIEW baselines IS
  'The uncompressed model''s figures that trials are compared with, one row a fidelity.';
COMMENT ON COLUMN baselines.study_id IS 'the study it belongs to';
COMMENT ON COLUMN baselines.trial_id IS 'the trial that measured it';
COMMENT ON COLUMN baselines.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN baselines.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN baselines.latency_ms IS
  'milliseconds a generated token: median over the sessions of the study';

CREATE OR REPLACE VIEW pareto AS
SELECT p.study_id, p.trial_id, t.number, t.readable_id, t.strategy_id IS NULL AS is_baseline,
  p.rank, p.contribution, f.accuracy, f.accuracy_standard_error, f.perplexity, c.latency_ms,
  c.latency_ratio, c.latency_ratio_low, c.latency_ratio_high,
  f.size_bytes, f.memory_bytes, c.reward, t.artifact_id
FROM front_points p
JOIN trials t USING (study_id, trial_id)
JOIN trial_figures f USING (study_id, trial_id)
LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.trial_id;
COMMENT ON VIEW pareto IS
  'Trials that may stand on the front, with the front they are on: rank 0 is the Pareto front.';
COMMENT ON COLUMN pareto.study_id IS 'the study it belongs to';
COMMENT ON COLUMN pareto.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN pareto.number IS 'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN pareto.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN pareto.is_baseline IS 'the uncompressed model';
COMMENT ON COLUMN pareto.rank IS '0 on the front, 1 on the front without those, and so on';
COMMENT ON COLUMN pareto.contribution IS
  'hypervolume that the front loses without it, whoever it beat taking its place, over the baseline''s scale';
COMMENT ON COLUMN pareto.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN pareto.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN pareto.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN pareto.latency_ms IS
  'milliseconds a generated token: latency_ratio times the median of the baseline''s times over the study';
COMMENT ON COLUMN pareto.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN pareto.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN pareto.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN pareto.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN pareto.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN pareto.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN pareto.artifact_id IS 'artifact of its last action; NULL for the baseline';

CREATE OR REPLACE VIEW trial_summary AS
SELECT study_id, trial_id, number, readable_id, methods, state, fidelity, reward, accuracy,
  accuracy_standard_error, accuracy_n, accuracy_drop, perplexity, latency_ms, latency_ratio,
  latency_ratio_low, latency_ratio_high, speedup,
  prefill_tokens_per_s, size_bytes, compression_ratio, memory_bytes, gpu_memory_bytes,
  energy_j_per_1k_tokens, energy_reader, co2_g_per_1k_tokens, violated, undecided,
  front_rank IS NOT DISTINCT FROM 0 AS on_front, front_rank, contribution, runtime, seconds,
  failure_kind, failure_message, strategy_id, sampler, mode, artifact_id, started_at, finished_at,
  seed, command, code_commit, model_revision, environment_lock
FROM trial_summaries;
COMMENT ON VIEW trial_summary IS
  'One row a trial with its main figures beside the baseline''s, its standing and where it came from.';
COMMENT ON COLUMN trial_summary.study_id IS 'the study it belongs to';
COMMENT ON COLUMN trial_summary.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN trial_summary.number IS
  'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN trial_summary.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN trial_summary.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN trial_summary.state IS
  'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN trial_summary.fidelity IS
  'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN trial_summary.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN trial_summary.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN trial_summary.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN trial_summary.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN trial_summary.accuracy_drop IS
  'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN trial_summary.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN trial_summary.latency_ms IS
  'milliseconds a generated token: latency_ratio times the median of the baseline''s times over the study; NULL: only emulated, or not measured';
COMMENT ON COLUMN trial_summary.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN trial_summary.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN trial_summary.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN trial_summary.speedup IS '1 / latency_ratio';
COMMENT ON COLUMN trial_summary.prefill_tokens_per_s IS 'prompt tokens a second, as timed';
COMMENT ON COLUMN trial_summary.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN trial_summary.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN trial_summary.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN trial_summary.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN trial_summary.energy_j_per_1k_tokens IS 'joules for 1,000 generated tokens';
COMMENT ON COLUMN trial_summary.energy_reader IS
  'how energy was read: nvml-counter, nvml-power, rapl or estimate';
COMMENT ON COLUMN trial_summary.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, by the study''s country and carbon_g_per_kwh';
COMMENT ON COLUMN trial_summary.violated IS 'constraints that are violated';
COMMENT ON COLUMN trial_summary.undecided IS 'constraints whose interval spans the threshold';
COMMENT ON COLUMN trial_summary.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN trial_summary.front_rank IS
  '0 on the front, 1 on the front without those, and so on; NULL: not measured in full';
COMMENT ON COLUMN trial_summary.contribution IS
  'hypervolume that the front loses without it, whoever it beat taking its place, over the baseline''s scale';
COMMENT ON COLUMN trial_summary.runtime IS 'what executed the model';
COMMENT ON COLUMN trial_summary.seconds IS 'wall time from its opening to its end';
COMMENT ON COLUMN trial_summary.failure_kind IS
  'the failure''s own name, such as out_of_memory; NULL: none';
COMMENT ON COLUMN trial_summary.failure_message IS 'what was attempted and why not';
COMMENT ON COLUMN trial_summary.strategy_id IS 'name of the strategy; NULL for the baseline';
COMMENT ON COLUMN trial_summary.sampler IS 'who proposed it';
COMMENT ON COLUMN trial_summary.mode IS 'seed, exploit, explore or user';
COMMENT ON COLUMN trial_summary.artifact_id IS
  'artifact of its last action; NULL for the baseline';
COMMENT ON COLUMN trial_summary.started_at IS 'UTC';
COMMENT ON COLUMN trial_summary.finished_at IS 'UTC; NULL while it runs';
COMMENT ON COLUMN trial_summary.seed IS 'seed of every random choice';
COMMENT ON COLUMN trial_summary.command IS 'command line that ran it';
COMMENT ON COLUMN trial_summary.code_commit IS
  'commit of pare''s own code, with -dirty where it was changed';
COMMENT ON COLUMN trial_summary.model_revision IS
  'revision of the original model, where it has one';
COMMENT ON COLUMN trial_summary.environment_lock IS
  'one value for the pins of every environment; joins environments';

-- Made again: it has every column of trial_summary.
CREATE OR REPLACE VIEW leaderboard AS
SELECT row_number() OVER (
    PARTITION BY study_id
    ORDER BY len(violated) = 0 DESC, reward DESC NULLS LAST, number) AS rank,
  * EXCLUDE (failure_kind, failure_message)
FROM trial_summary
WHERE state = 'completed' AND number > 0;
COMMENT ON VIEW leaderboard IS
  'Completed trials of each study, best reward first, those that violate a constraint last.';
COMMENT ON COLUMN leaderboard.rank IS 'place within the study, from 1';
COMMENT ON COLUMN leaderboard.study_id IS 'the study it belongs to';
COMMENT ON COLUMN leaderboard.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN leaderboard.number IS
  'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN leaderboard.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN leaderboard.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN leaderboard.state IS
  'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN leaderboard.fidelity IS
  'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN leaderboard.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN leaderboard.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN leaderboard.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN leaderboard.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN leaderboard.accuracy_drop IS
  'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN leaderboard.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN leaderboard.latency_ms IS
  'milliseconds a generated token: latency_ratio times the median of the baseline''s times over the study; NULL: only emulated, or not measured';
COMMENT ON COLUMN leaderboard.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN leaderboard.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN leaderboard.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN leaderboard.speedup IS '1 / latency_ratio';
COMMENT ON COLUMN leaderboard.prefill_tokens_per_s IS 'prompt tokens a second, as timed';
COMMENT ON COLUMN leaderboard.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN leaderboard.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN leaderboard.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN leaderboard.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN leaderboard.energy_j_per_1k_tokens IS 'joules for 1,000 generated tokens';
COMMENT ON COLUMN leaderboard.energy_reader IS
  'how energy was read: nvml-counter, nvml-power, rapl or estimate';
COMMENT ON COLUMN leaderboard.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, by the study''s country and carbon_g_per_kwh';
COMMENT ON COLUMN leaderboard.violated IS 'constraints that are violated';
COMMENT ON COLUMN leaderboard.undecided IS 'constraints whose interval spans the threshold';
COMMENT ON COLUMN leaderboard.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN leaderboard.front_rank IS
  '0 on the front, 1 on the front without those, and so on; NULL: not measured in full';
COMMENT ON COLUMN leaderboard.contribution IS
  'hypervolume that the front loses without it, whoever it beat taking its place, over the baseline''s scale';
COMMENT ON COLUMN leaderboard.runtime IS 'what executed the model';
COMMENT ON COLUMN leaderboard.seconds IS 'wall time from its opening to its end';
COMMENT ON COLUMN leaderboard.strategy_id IS 'name of the strategy; NULL for the baseline';
COMMENT ON COLUMN leaderboard.sampler IS 'who proposed it';
COMMENT ON COLUMN leaderboard.mode IS 'seed, exploit, explore or user';
COMMENT ON COLUMN leaderboard.artifact_id IS 'artifact of its last action; NULL for the baseline';
COMMENT ON COLUMN leaderboard.started_at IS 'UTC';
COMMENT ON COLUMN leaderboard.finished_at IS 'UTC; NULL while it runs';
COMMENT ON COLUMN leaderboard.seed IS 'seed of every random choice';
COMMENT ON COLUMN leaderboard.command IS 'command line that ran it';
COMMENT ON COLUMN leaderboard.code_commit IS
  'commit of pare''s own code, with -dirty where it was changed';
COMMENT ON COLUMN leaderboard.model_revision IS
  'revision of the original model, where it has one';
COMMENT ON COLUMN leaderboard.environment_lock IS
  'one value for the pins of every environment; joins environments';

-- A chain's stages are its actions in order. What was measured after a stage stands with the trial
-- that ended there: itself for the last, one that shares the prefix for those before.
CREATE OR REPLACE VIEW stage_comparison AS
WITH stages AS (
  SELECT a.study_id, a.trial_id, a.action_index + 1 AS stage, a.agent, a.method, a.artifact_id
  FROM actions a WHERE a.artifact_id IS NOT NULL
),
ends AS (
  SELECT study_id, trial_id, artifact_id FROM trials
  WHERE artifact_id IS NOT NULL AND state IN ('completed', 'stopped')
  QUALIFY row_number() OVER (
    PARTITION BY study_id, artifact_id ORDER BY fidelity = 'full' DESC NULLS LAST, number
  ) = 1
),
placed AS (
  SELECT s.*,
    CASE WHEN t.artifact_id = s.artifact_id AND t.state IN ('completed', 'stopped')
      THEN s.trial_id ELSE e.trial_id END AS measured_in
  FROM stages s
  JOIN trials t ON t.study_id = s.study_id AND t.trial_id = s.trial_id
  LEFT JOIN ends e ON e.study_id = s.study_id AND e.artifact_id = s.artifact_id
),
found AS (
  SELECT p.*, m.fidelity, f.accuracy, f.perplexity, c.latency_ms, c.latency_ratio, f.memory_bytes
  FROM placed p
  LEFT JOIN trials m ON m.study_id = p.study_id AND m.trial_id = p.measured_in
  LEFT JOIN trial_figures f ON f.study_id = p.study_id AND f.trial_id = p.measured_in
  LEFT JOIN compared_trials c ON c.study_id = p.study_id AND c.trial_id = p.measured_in
),
bases AS (
  SELECT t.study_id, t.trial_id, t.fidelity, f.accuracy, f.perplexity, c.latency_ms,
    c.latency_ratio, f.memory_bytes
  FROM trials t JOIN trial_figures f USING (study_id, trial_id)
  LEFT JOIN compared_trials c ON c.study_id = t.study_id AND c.trial_id = t.trial_id
  WHERE t.strategy_id IS NULL AND t.state = 'completed'
),
rows AS (
  SELECT study_id, trial_id, stage, agent, method, artifact_id, measured_in, fidelity, accuracy,
    perplexity, latency_ms, latency_ratio, memory_bytes, NULL::BIGINT AS size_bytes
  FROM found
  UNION ALL
  SELECT t.study_id, t.trial_id, 0, NULL, 'baseline', NULL, b.trial_id, b.fidelity, b.accuracy,
    b.perplexity, b.latency_ms, b.latency_ratio, b.memory_bytes, s.fp16_bytes
  FROM (SELECT DISTINCT study_id, trial_id FROM stages) t
  JOIN studies s USING (study_id)
  LEFT JOIN bases b ON b.study_id = t.study_id
),
sized AS (
  SELECT r.* EXCLUDE (size_bytes), coalesce(r.size_bytes, a.size_bytes) AS size_bytes
  FROM rows r LEFT JOIN artifacts a ON a.artifact_id = r.artifact_id
)
SELECT r.study_id, r.trial_id, t.readable_id, r.stage, r.agent, r.method, r.artifact_id,
  r.measured_in, r.fidelity, r.accuracy,
  r.accuracy / nullif(q.accuracy, 0) AS accuracy_retention,
  r.perplexity, r.latency_ms, 1 / r.latency_ratio AS speedup, r.memory_bytes, r.size_bytes,
  lag(r.size_bytes) OVER chain / r.size_bytes AS stage_ratio,
  s.fp16_bytes / r.size_bytes AS cumulative_ratio
FROM sized r
JOIN trials t ON t.study_id = r.study_id AND t.trial_id = r.trial_id
JOIN studies s ON s.study_id = r.study_id
LEFT JOIN baselines q ON q.study_id = r.study_id AND q.fidelity = r.fidelity
WINDOW chain AS (PARTITION BY r.study_id, r.trial_id ORDER BY r.stage);

COMMENT ON VIEW stage_comparison IS
  'Each trial''s chain of actions, with what was measured after each: stage 0 is the baseline.';
COMMENT ON COLUMN stage_comparison.study_id IS 'the study it belongs to';
COMMENT ON COLUMN stage_comparison.trial_id IS
  'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN stage_comparison.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN stage_comparison.stage IS 'actions so far; 0 is the baseline';
COMMENT ON COLUMN stage_comparison.agent IS 'folder of the method; NULL for the baseline';
COMMENT ON COLUMN stage_comparison.method IS 'method of the stages action';
COMMENT ON COLUMN stage_comparison.artifact_id IS 'what the stage left; NULL for the baseline';
COMMENT ON COLUMN stage_comparison.measured_in IS
  'trial that ended at this artifact; NULL: nobody measured it alone';
COMMENT ON COLUMN stage_comparison.fidelity IS 'of the quality figures';
COMMENT ON COLUMN stage_comparison.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN stage_comparison.accuracy_retention IS 'accuracy / the baselines';
COMMENT ON COLUMN stage_comparison.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN stage_comparison.latency_ms IS
  'milliseconds a generated token, in the runtime of the study';
COMMENT ON COLUMN stage_comparison.speedup IS '1 / latency_ratio of the trial that ended there';
COMMENT ON COLUMN stage_comparison.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN stage_comparison.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN stage_comparison.stage_ratio IS
  'bytes before the stage / bytes after; stage 1 begins at fp16';
COMMENT ON COLUMN stage_comparison.cumulative_ratio IS
  'fp16 bytes of the original / bytes after the stage';

CREATE OR REPLACE VIEW knob_effects AS
WITH used AS (
  -- A trial counts once, also where two of its actions have the knob at the same value.
  SELECT DISTINCT k.study_id, k.trial_id, a.agent, a.method, k.knob, k.value AS knob_value,
    k.number AS knob_number
  FROM knobs k
  JOIN actions a USING (study_id, trial_id, action_index)
  JOIN trials t USING (study_id, trial_id)
  WHERE t.state IN ('completed', 'stopped')
),
figures AS (
  SELECT study_id, trial_id, metric, value, unit, direction, fidelity FROM headline
  WHERE metric IN ('accuracy', 'perplexity', 'size_bytes', 'memory_bytes',
    'energy_j_per_1k_tokens')
  UNION ALL
  -- As they are compared; timed at any fidelity, they count as full, as they are measured.
  SELECT study_id, trial_id, 'latency_ms', latency_ms, 'ms/token', 'minimize', 'full'
  FROM compared_trials WHERE latency_ms IS NOT NULL
  UNION ALL
  SELECT study_id, trial_id, 'latency_ratio', latency_ratio, '1', 'minimize', 'full'
  FROM compared_trials WHERE latency_ratio IS NOT NULL
  UNION ALL
  SELECT study_id, trial_id, 'reward', c.reward, '1', 'maximize', t.fidelity
  FROM compared_trials c JOIN trials t USING (study_id, trial_id) WHERE c.reward IS NOT NULL
)
SELECT u.study_id, u.agent, u.method, u.knob, u.knob_value,
  any_value(u.knob_number) AS knob_number, f.metric, f.fidelity, count(*) AS n,
  avg(f.value) AS mean, median(f.value) AS median, min(f.value) AS minimum,
  max(f.value) AS maximum, any_value(f.unit) AS unit, any_value(f.direction) AS direction
FROM used u JOIN figures f USING (study_id, trial_id)
GROUP BY u.study_id, u.agent, u.method, u.knob, u.knob_value, f.metric, f.fidelity;

COMMENT ON VIEW knob_effects IS
  'Main figures of the trials that had a knob at a value: an association, not a cause.';
COMMENT ON COLUMN knob_effects.study_id IS 'the study it belongs to';
COMMENT ON COLUMN knob_effects.agent IS 'folder of the method, such as quantization';
COMMENT ON COLUMN knob_effects.method IS 'method that has the knob';
COMMENT ON COLUMN knob_effects.knob IS 'name of the knob';
COMMENT ON COLUMN knob_effects.knob_value IS 'as text, resolved';
COMMENT ON COLUMN knob_effects.knob_number IS 'the value where it is a number or on/off (1, 0)';
COMMENT ON COLUMN knob_effects.metric IS 'such as accuracy, latency_ratio or size_bytes';
COMMENT ON COLUMN knob_effects.fidelity IS
  'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN knob_effects.n IS 'trials';
COMMENT ON COLUMN knob_effects.mean IS 'over those trials';
COMMENT ON COLUMN knob_effects.median IS 'over those trials';
COMMENT ON COLUMN knob_effects.minimum IS 'over those trials';
COMMENT ON COLUMN knob_effects.maximum IS 'over those trials';
COMMENT ON COLUMN knob_effects.unit IS 'such as 1, ms/token or bytes';
COMMENT ON COLUMN knob_effects.direction IS 'maximize or minimize';
