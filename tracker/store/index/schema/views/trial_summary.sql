CREATE VIEW trial_summary AS
SELECT study_id, trial_id, number, readable_id, methods, state, fidelity, reward, accuracy,
  accuracy_standard_error, accuracy_n, accuracy_drop, perplexity, latency_ms, latency_ratio,
  latency_ratio_low, latency_ratio_high, speedup,
  prefill_tokens_per_s, size_bytes, compression_ratio, memory_bytes, gpu_memory_bytes, kv_bytes,
  energy_j_per_1k_tokens, energy_reader, co2_g_per_1k_tokens, violated, undecided,
  front_rank IS NOT DISTINCT FROM 0 AS on_front, front_rank, contribution, runtime, seconds,
  failure_kind, failure_message, strategy_id, sampler, mode, artifact_id, started_at, finished_at,
  seed, command, code_commit, model_revision, environment_lock
FROM trial_summaries;

COMMENT ON VIEW trial_summary IS
  'One row per trial with its main figures beside the baseline''s, its standing and where it came from.';
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
  'rung of the evaluation: proxy, full or the name of one between, which quality was measured on';
COMMENT ON COLUMN trial_summary.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN trial_summary.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN trial_summary.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN trial_summary.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN trial_summary.accuracy_drop IS
  'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN trial_summary.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN trial_summary.latency_ms IS
  'milliseconds per generated token: latency_ratio times the median of the baseline''s times over the study; NULL: only emulated, or not measured';
COMMENT ON COLUMN trial_summary.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN trial_summary.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN trial_summary.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN trial_summary.speedup IS '1 / latency_ratio';
COMMENT ON COLUMN trial_summary.prefill_tokens_per_s IS 'prompt tokens per second, as timed';
COMMENT ON COLUMN trial_summary.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN trial_summary.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN trial_summary.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN trial_summary.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN trial_summary.kv_bytes IS
  'bytes of the KV cache at the longest context measured, each length in measurements; NULL: the trial sets no policy of the cache';
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
  'hypervolume that the front loses without it, whoever it dominated taking its place, over the baseline''s scale';
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
