-- Places are of one rung, the last: a reward of a lower one rests on other samples.
CREATE VIEW leaderboard_wide AS
SELECT CASE WHEN t.fidelity = 'full' THEN row_number() OVER (
    PARTITION BY t.study_id
    ORDER BY t.fidelity IS NOT DISTINCT FROM 'full' DESC, len(t.violated) = 0 DESC,
      reward DESC NULLS LAST, number) END AS rank,
  t.* EXCLUDE (failure_kind, failure_message),
  t.trial_id IS NOT DISTINCT FROM s.recommended AS recommended
FROM trial_summary t
JOIN studies s USING (study_id)
WHERE t.state = 'completed' AND t.number > 0;

COMMENT ON VIEW leaderboard_wide IS
  'The leaderboard with every column: figures, errors, energy, times, where each trial came from.';
COMMENT ON COLUMN leaderboard_wide.rank IS 'place among the study''s trials evaluated in full, from 1; NULL: it was evaluated on a lower rung only';
COMMENT ON COLUMN leaderboard_wide.study_id IS 'the study it belongs to';
COMMENT ON COLUMN leaderboard_wide.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN leaderboard_wide.number IS
  'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN leaderboard_wide.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN leaderboard_wide.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN leaderboard_wide.state IS
  'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN leaderboard_wide.fidelity IS
  'rung of the evaluation: proxy, full or the name of one between, which quality was measured on';
COMMENT ON COLUMN leaderboard_wide.reward IS
  'what steers the search, with the latency as it is compared; a claim rests on the front';
COMMENT ON COLUMN leaderboard_wide.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN leaderboard_wide.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN leaderboard_wide.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN leaderboard_wide.accuracy_drop IS
  'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN leaderboard_wide.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN leaderboard_wide.latency_ms IS
  'milliseconds per generated token: latency_ratio times the median of the baseline''s times over the study; NULL: only emulated, or not measured';
COMMENT ON COLUMN leaderboard_wide.latency_ratio IS
  'time of a token over that of the baseline in the same minutes, in the runtime of the study; one figure for all trials of one stored form; NULL: only emulated, or not measured';
COMMENT ON COLUMN leaderboard_wide.latency_ratio_low IS
  'lower end of its 95 % interval, the spread between sessions in it';
COMMENT ON COLUMN leaderboard_wide.latency_ratio_high IS 'upper end of its 95 % interval';
COMMENT ON COLUMN leaderboard_wide.speedup IS '1 / latency_ratio';
COMMENT ON COLUMN leaderboard_wide.prefill_tokens_per_s IS 'prompt tokens per second, as timed';
COMMENT ON COLUMN leaderboard_wide.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN leaderboard_wide.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN leaderboard_wide.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN leaderboard_wide.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN leaderboard_wide.kv_bytes IS
  'bytes of the KV cache at the longest context measured, each length in measurements; NULL: the trial sets no policy of the cache';
COMMENT ON COLUMN leaderboard_wide.energy_j_per_1k_tokens IS 'joules for 1,000 generated tokens';
COMMENT ON COLUMN leaderboard_wide.energy_reader IS
  'how energy was read: nvml-counter, nvml-power, rapl or estimate';
COMMENT ON COLUMN leaderboard_wide.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, by the study''s country and carbon_g_per_kwh';
COMMENT ON COLUMN leaderboard_wide.violated IS 'constraints that are violated';
COMMENT ON COLUMN leaderboard_wide.undecided IS 'constraints whose interval spans the threshold';
COMMENT ON COLUMN leaderboard_wide.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN leaderboard_wide.front_rank IS
  '0 on the front, 1 on the front without those, and so on; NULL: not measured in full';
COMMENT ON COLUMN leaderboard_wide.contribution IS
  'hypervolume that the front loses without it, whoever it dominated taking its place, over the baseline''s scale';
COMMENT ON COLUMN leaderboard_wide.runtime IS 'what executed the model';
COMMENT ON COLUMN leaderboard_wide.seconds IS 'wall time from its opening to its end';
COMMENT ON COLUMN leaderboard_wide.strategy_id IS 'name of the strategy; NULL for the baseline';
COMMENT ON COLUMN leaderboard_wide.sampler IS 'who proposed it';
COMMENT ON COLUMN leaderboard_wide.mode IS 'seed, exploit, explore or user';
COMMENT ON COLUMN leaderboard_wide.artifact_id IS 'artifact of its last action; NULL for the baseline';
COMMENT ON COLUMN leaderboard_wide.started_at IS 'UTC';
COMMENT ON COLUMN leaderboard_wide.finished_at IS 'UTC; NULL while it runs';
COMMENT ON COLUMN leaderboard_wide.seed IS 'seed of every random choice';
COMMENT ON COLUMN leaderboard_wide.command IS 'command line that ran it';
COMMENT ON COLUMN leaderboard_wide.code_commit IS
  'commit of pare''s own code, with -dirty where it was changed';
COMMENT ON COLUMN leaderboard_wide.model_revision IS
  'revision of the original model, where it has one';
COMMENT ON COLUMN leaderboard_wide.environment_lock IS
  'one value for the pins of every environment; joins environments';
COMMENT ON COLUMN leaderboard_wide.recommended IS
  'whether the study recommends it; false for all where it keeps the original or goes on';
