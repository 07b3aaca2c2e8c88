/** Speeds of answering that others published, each with where it stands. */
import { configOf } from "./published.ts";

/** A step of a server: so many sequences, each with so many tokens kept on the way. */
export interface PublishedSpeed {
  readonly model: string;
  readonly config?: Record<string, unknown>;
  readonly gpus: string;
  readonly sequences: number;
  readonly kept_tokens: number;
  readonly step_ms: number;
  readonly source: string;
}

const LLAMA = "meta-llama/Meta-Llama-3.1-8B";
const QWEN = "Qwen/Qwen3-30B-A3B";
const SWEEP = "https://johnmusgrave.com/p/vllm-throughput-latency-sweep-on, vLLM 0.23";
const BENCH = "https://yobitelcomm.github.io/bench/recipes/concurrency-sweep/, vLLM 0.21";
const FAMILY = "https://github.com/tenstorrent/tt-inference-server/issues/340";
const INFERENCE_X = "https://github.com/SemiAnalysisAI/InferenceX";

/** A dense model in FP8 of the shape of the same in 16 bits. */
const FP8_70B = {
  ...configOf("meta-llama/Meta-Llama-3.1-70B"),
  quantization_config: { quant_method: "fp8" },
};

/**
 * All that a search found with its model, cards, count of sequences and lengths said. Left out are runs
 * without graphs, with drafts, over several machines, and BENCH's step of 64 sequences: together they
 * were slower than 16, which no card explains.
 */
export const PUBLISHED_SPEEDS: readonly PublishedSpeed[] = [
  // 75 tokens a second alone, and 6.6 times as many of eight.
  { model: LLAMA, gpus: "A100-40", sequences: 1, kept_tokens: 1088, step_ms: 13.33, source: SWEEP },
  { model: LLAMA, gpus: "A100-40", sequences: 8, kept_tokens: 1088, step_ms: 16.16, source: SWEEP },
  { model: LLAMA, gpus: "H100-80", sequences: 1, kept_tokens: 200, step_ms: 6.48, source: BENCH },
  { model: LLAMA, gpus: "H100-80", sequences: 4, kept_tokens: 200, step_ms: 6.59, source: BENCH },
  { model: LLAMA, gpus: "H100-80", sequences: 16, kept_tokens: 200, step_ms: 10.94, source: BENCH },
  ...([[192, 24.3], [4160, 22.8]] as const).map(([kept_tokens, step_ms]) => ({
    ...{ model: "Qwen/Qwen3-14B", gpus: "A100-80", sequences: 1, source: FAMILY },
    ...{ kept_tokens, step_ms },
  })),
  ...([[192, 9.6], [8256, 10.6]] as const).map(([kept_tokens, step_ms]) => ({
    ...{ model: QWEN, gpus: "A100-80", sequences: 1, source: FAMILY },
    ...{ kept_tokens, step_ms },
  })),
  {
    ...{ model: QWEN, gpus: "H100-80", sequences: 10, kept_tokens: 2560, step_ms: 13.18 },
    source: "https://github.com/vllm-project/vllm/pull/23151",
  },
  {
    ...{ model: "meta-llama/Llama-3.3-70B-Instruct", config: FP8_70B, gpus: "2xB200" },
    ...{ sequences: 1, kept_tokens: 768, step_ms: 28.5 },
    source: "https://github.com/vllm-project/vllm/issues/20710: 35.04 tokens a second",
  },
  {
    ...{ model: "openai/gpt-oss-120b", gpus: "A100-80", sequences: 1, kept_tokens: 500 },
    step_ms: 11.1,
    source: "https://github.com/vllm-project/vllm/issues/22331: 90 tokens a second",
  },
  ...([[64, 31.4], [128, 41.3], [256, 58.3]] as const).map(([sequences, step_ms]) => ({
    ...{ model: "openai/gpt-oss-120b", gpus: "MI300X", kept_tokens: 1536, sequences, step_ms },
    source: `${INFERENCE_X}/pull/1061`,
  })),
  ...([[8, 12.8], [16, 17.2], [32, 25.6], [64, 34.6]] as const).map(([sequences, step_ms]) => ({
    ...{ model: "deepseek-ai/DeepSeek-V3", gpus: "8xH200", kept_tokens: 1536, sequences, step_ms },
    source: `${INFERENCE_X}/issues/870: DeepSeek-R1 in SGLang 0.5.7`,
  })),
];
