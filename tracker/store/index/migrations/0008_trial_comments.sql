-- What the columns of the views about trials mean.

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

COMMENT ON COLUMN trial_figures.perplexity IS 'of the study''s text; lower is better';

COMMENT ON VIEW baselines IS
  'The uncompressed model''s figures that trials are compared with, one row a fidelity.';
COMMENT ON COLUMN baselines.study_id IS 'the study it belongs to';
COMMENT ON COLUMN baselines.trial_id IS 'the trial that measured it';
COMMENT ON COLUMN baselines.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN baselines.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN baselines.latency_ms IS 'milliseconds a generated token, measured alone';

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
  'hypervolume that the front loses without it, over the baseline''s scale';
COMMENT ON COLUMN pareto.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN pareto.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN pareto.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN pareto.latency_ms IS 'milliseconds a generated token, in the runtime of the study';
COMMENT ON COLUMN pareto.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN pareto.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN pareto.reward IS 'what steers the search; a claim rests on the front';
COMMENT ON COLUMN pareto.artifact_id IS 'artifact of its last action; NULL for the baseline';

COMMENT ON VIEW trial_summary IS
  'One row a trial with its main figures beside the baseline''s, its standing and where it came from.';
COMMENT ON COLUMN trial_summary.study_id IS 'the study it belongs to';
COMMENT ON COLUMN trial_summary.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN trial_summary.number IS 'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN trial_summary.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN trial_summary.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN trial_summary.state IS
  'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN trial_summary.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN trial_summary.reward IS 'what steers the search; a claim rests on the front';
COMMENT ON COLUMN trial_summary.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN trial_summary.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN trial_summary.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN trial_summary.accuracy_drop IS 'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN trial_summary.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN trial_summary.latency_ms IS 'milliseconds a generated token, in the runtime of the study';
COMMENT ON COLUMN trial_summary.speedup IS 'latency of the baseline / this one';
COMMENT ON COLUMN trial_summary.prefill_tokens_per_s IS 'prompt tokens a second';
COMMENT ON COLUMN trial_summary.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN trial_summary.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN trial_summary.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN trial_summary.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN trial_summary.energy_j_per_1k_tokens IS 'joules for 1,000 generated tokens';
COMMENT ON COLUMN trial_summary.energy_reader IS 'how energy was read: nvml-counter, rapl or estimate';
COMMENT ON COLUMN trial_summary.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, at the world''s mean grid';
COMMENT ON COLUMN trial_summary.violated IS 'constraints that are violated';
COMMENT ON COLUMN trial_summary.undecided IS 'constraints whose interval spans the threshold';
COMMENT ON COLUMN trial_summary.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN trial_summary.front_rank IS
  '0 on the front, 1 on the front without those, and so on; NULL: not measured in full';
COMMENT ON COLUMN trial_summary.contribution IS
  'hypervolume that the front loses without it, over the baseline''s scale';
COMMENT ON COLUMN trial_summary.runtime IS 'what executed the model';
COMMENT ON COLUMN trial_summary.seconds IS 'wall time from its opening to its end';
COMMENT ON COLUMN trial_summary.failure_kind IS 'the failure''s own name, such as out_of_memory; NULL: none';
COMMENT ON COLUMN trial_summary.failure_message IS 'what was attempted and why not';
COMMENT ON COLUMN trial_summary.strategy_id IS 'name of the strategy; NULL for the baseline';
COMMENT ON COLUMN trial_summary.sampler IS 'who proposed it';
COMMENT ON COLUMN trial_summary.mode IS 'seed, exploit, explore or user';
COMMENT ON COLUMN trial_summary.artifact_id IS 'artifact of its last action; NULL for the baseline';
COMMENT ON COLUMN trial_summary.started_at IS 'UTC';
COMMENT ON COLUMN trial_summary.finished_at IS 'UTC; NULL while it runs';
COMMENT ON COLUMN trial_summary.seed IS 'seed of every random choice';
COMMENT ON COLUMN trial_summary.command IS 'command line that ran it';
COMMENT ON COLUMN trial_summary.code_commit IS 'commit of pare''s own code, with -dirty where it was changed';
COMMENT ON COLUMN trial_summary.model_revision IS 'revision of the original model, where it has one';
COMMENT ON COLUMN trial_summary.environment_lock IS
  'one value for the pins of every environment; joins environments';

COMMENT ON VIEW leaderboard IS
  'Completed trials of each study, best reward first, those that violate a constraint last.';
COMMENT ON COLUMN leaderboard.rank IS 'place within the study, from 1';
COMMENT ON COLUMN leaderboard.study_id IS 'the study it belongs to';
COMMENT ON COLUMN leaderboard.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN leaderboard.number IS 'in the order of opening within the study; 0 is the baseline';
COMMENT ON COLUMN leaderboard.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN leaderboard.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN leaderboard.state IS 'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN leaderboard.fidelity IS 'proxy or full: how many samples quality was measured on';
COMMENT ON COLUMN leaderboard.reward IS 'what steers the search; a claim rests on the front';
COMMENT ON COLUMN leaderboard.accuracy IS 'unweighted mean over the primary tasks, 0 to 1';
COMMENT ON COLUMN leaderboard.accuracy_standard_error IS 'standard error of accuracy';
COMMENT ON COLUMN leaderboard.accuracy_n IS 'samples behind accuracy';
COMMENT ON COLUMN leaderboard.accuracy_drop IS 'accuracy of the baseline on the same samples less this one, absolute';
COMMENT ON COLUMN leaderboard.perplexity IS 'of the study''s text; lower is better';
COMMENT ON COLUMN leaderboard.latency_ms IS 'milliseconds a generated token, in the runtime of the study';
COMMENT ON COLUMN leaderboard.speedup IS 'latency of the baseline / this one';
COMMENT ON COLUMN leaderboard.prefill_tokens_per_s IS 'prompt tokens a second';
COMMENT ON COLUMN leaderboard.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN leaderboard.compression_ratio IS 'fp16 bytes of the original / size_bytes';
COMMENT ON COLUMN leaderboard.memory_bytes IS 'peak memory of the inference process';
COMMENT ON COLUMN leaderboard.gpu_memory_bytes IS 'peak memory allocated on the GPU';
COMMENT ON COLUMN leaderboard.energy_j_per_1k_tokens IS 'joules for 1,000 generated tokens';
COMMENT ON COLUMN leaderboard.energy_reader IS 'how energy was read: nvml-counter, rapl or estimate';
COMMENT ON COLUMN leaderboard.co2_g_per_1k_tokens IS
  'grams of CO2 for 1,000 generated tokens, at the world''s mean grid';
COMMENT ON COLUMN leaderboard.violated IS 'constraints that are violated';
COMMENT ON COLUMN leaderboard.undecided IS 'constraints whose interval spans the threshold';
COMMENT ON COLUMN leaderboard.on_front IS
  'no other full trial is as good on every objective and better on one';
COMMENT ON COLUMN leaderboard.front_rank IS
  '0 on the front, 1 on the front without those, and so on; NULL: not measured in full';
COMMENT ON COLUMN leaderboard.contribution IS
  'hypervolume that the front loses without it, over the baseline''s scale';
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
COMMENT ON COLUMN leaderboard.code_commit IS 'commit of pare''s own code, with -dirty where it was changed';
COMMENT ON COLUMN leaderboard.model_revision IS 'revision of the original model, where it has one';
COMMENT ON COLUMN leaderboard.environment_lock IS
  'one value for the pins of every environment; joins environments';

COMMENT ON VIEW failures IS
  'Trials that did not complete, with the reason under its own name.';
COMMENT ON COLUMN failures.study_id IS 'the study it belongs to';
COMMENT ON COLUMN failures.trial_id IS 'readable and unique in the store, such as study/t03';
COMMENT ON COLUMN failures.readable_id IS
  'what the trial does, such as s03-gptq-4bit-g64; baseline for the first measurement';
COMMENT ON COLUMN failures.methods IS 'methods of the strategy in order';
COMMENT ON COLUMN failures.state IS 'completed, stopped at a gate, invalid, failed, cancelled or running';
COMMENT ON COLUMN failures.kind IS 'the failure''s own name, such as out_of_memory';
COMMENT ON COLUMN failures.message IS 'what was attempted and why not';
COMMENT ON COLUMN failures.hint IS 'what to do';
COMMENT ON COLUMN failures.stage IS 'what the trial was at';
COMMENT ON COLUMN failures.finished_at IS 'UTC; NULL while it runs';

COMMENT ON VIEW lineage IS
  'Each artifact with the baseline it comes from and the methods on the way.';
COMMENT ON COLUMN lineage.artifact_id IS 'hash over its files';
COMMENT ON COLUMN lineage.parent_id IS 'artifact that it was made from';
COMMENT ON COLUMN lineage.root_id IS 'baseline at the beginning of the chain';
COMMENT ON COLUMN lineage.depth IS 'actions from the baseline';
COMMENT ON COLUMN lineage.recipe IS 'methods from the baseline on';
COMMENT ON COLUMN lineage.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN lineage.weight_bits IS 'mean bits a linear weight, scales included';
COMMENT ON COLUMN lineage.minimum_cosine IS 'least cosine of a layer with its parents';
COMMENT ON COLUMN lineage.location IS 'folder that holds the files';
