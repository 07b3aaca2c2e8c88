-- What the columns of the views that compare mean, and of the view of logged points.

COMMENT ON VIEW retention IS
  'Each figure beside the baseline''s under the same task version, fidelity and runtime.';
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
COMMENT ON COLUMN retention.ratio IS 'value / baseline';
COMMENT ON COLUMN retention.degradation IS 'how much worse than the baseline, absolute; negative: better';
COMMENT ON COLUMN retention.chance IS
  'score of guessing; NULL where the metric has none or the study did not say';
COMMENT ON COLUMN retention.chance_corrected IS '(value - chance) / (baseline - chance)';
COMMENT ON COLUMN retention.standard_error IS 'of the value; NULL where there is none';
COMMENT ON COLUMN retention.baseline_standard_error IS 'standard error of the baseline''s figure';
COMMENT ON COLUMN retention.n IS 'samples or repeats behind the value';
COMMENT ON COLUMN retention.unit IS 'such as 1, ms/token or bytes';

COMMENT ON VIEW stage_comparison IS
  'Each trial''s chain of actions, with what was measured after each: stage 0 is the baseline.';
COMMENT ON COLUMN stage_comparison.study_id IS 'the study it belongs to';
COMMENT ON COLUMN stage_comparison.trial_id IS 'readable and unique in the store, such as study/t03';
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
COMMENT ON COLUMN stage_comparison.speedup IS 'latency of the baseline / this one';
COMMENT ON COLUMN stage_comparison.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN stage_comparison.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN stage_comparison.stage_ratio IS
  'bytes before the stage / bytes after; stage 1 begins at fp16';
COMMENT ON COLUMN stage_comparison.cumulative_ratio IS 'fp16 bytes of the original / bytes after the stage';

COMMENT ON VIEW knob_effects IS
  'Main figures of the trials that had a knob at a value: an association, not a cause.';
COMMENT ON COLUMN knob_effects.study_id IS 'the study it belongs to';
COMMENT ON COLUMN knob_effects.agent IS 'folder of the method, such as quantization';
COMMENT ON COLUMN knob_effects.method IS 'method that has the knob';
COMMENT ON COLUMN knob_effects.knob IS 'name of the knob';
COMMENT ON COLUMN knob_effects.knob_value IS 'as text, resolved';
COMMENT ON COLUMN knob_effects.knob_number IS 'the value where it is a number or on/off (1, 0)';
COMMENT ON COLUMN knob_effects.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN knob_effects.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN knob_effects.n IS 'trials';
COMMENT ON COLUMN knob_effects.mean IS 'over those trials';
COMMENT ON COLUMN knob_effects.median IS 'over those trials';
COMMENT ON COLUMN knob_effects.minimum IS 'over those trials';
COMMENT ON COLUMN knob_effects.maximum IS 'over those trials';
COMMENT ON COLUMN knob_effects.unit IS 'such as 1, ms/token or bytes';
COMMENT ON COLUMN knob_effects.direction IS 'maximize or minimize';

COMMENT ON VIEW cost IS
  'What each point of the front cost, and what the whole study cost a point; NULL where it was not measured.';
COMMENT ON COLUMN cost.study_id IS 'the study it belongs to';
COMMENT ON COLUMN cost.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN cost.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN cost.minutes IS 'wall minutes of its stages';
COMMENT ON COLUMN cost.gpu_minutes IS 'minutes that it held the GPU; NULL on a CPU';
COMMENT ON COLUMN cost.cpu_minutes IS 'core-minutes: cores that its stages kept busy, over their time';
COMMENT ON COLUMN cost.joules IS 'power of the GPU over its stages; NULL where no power was read';
COMMENT ON COLUMN cost.front_size IS 'points of the front, the baseline not counted';
COMMENT ON COLUMN cost.study_trials IS 'trials of the study';
COMMENT ON COLUMN cost.study_minutes_per_point IS 'minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_gpu_minutes_per_point IS 'GPU minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_cpu_minutes_per_point IS 'core-minutes of all trials / front_size';
COMMENT ON COLUMN cost.study_joules_per_point IS 'joules of all trials / front_size';

COMMENT ON COLUMN metric_points.study_id IS 'the study it belongs to';
COMMENT ON COLUMN metric_points.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN metric_points.metric IS 'such as accuracy, latency_ms or size_bytes';
COMMENT ON COLUMN metric_points.step IS 'as it was logged';
