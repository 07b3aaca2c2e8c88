CREATE VIEW trial_summary AS
SELECT study_id, trial_id, number, readable_id, methods, state, fidelity, reward, accuracy,
  accuracy_standard_error, accuracy_n, accuracy_drop, perplexity, latency_ms, latency_ratio,
  latency_ratio_low, latency_ratio_high, speedup, /* metrics */, compression_ratio, energy_reader,
  violated, undecided,
  front_rank IS NOT DISTINCT FROM 0 AS on_front, front_rank, contribution, runtime, seconds,
  failure_kind, failure_message, strategy_id, sampler, mode, artifact_id, started_at, finished_at,
  seed, command, code_commit, model_revision, environment_lock
FROM trial_summaries;

COMMENT ON VIEW trial_summary IS
  'One row per trial with its main figures beside the baseline''s, its standing and where it came from.';
