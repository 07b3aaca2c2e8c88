/** Figures that others published of models' caches, contexts and files, each with where it stands. */
import { readConfig } from "../../../../core/serving/plan/model/config.ts";
import { readShape } from "../../../../core/serving/plan/model/read_shape.ts";
import type { Shape } from "../../../../core/serving/plan/model/shape.ts";
import type { CacheType } from "../../../../core/serving/plan/memory/cache_types.ts";

/**
 * What the sums read of config.json files, as `https://huggingface.co/NAME/blob/main/config.json` has
 * them: keys that no sum reads are left out.
 */
const CONFIGS: Record<string, Record<string, unknown>> = JSON.parse(
  Deno.readTextFileSync(new URL("configs.json", import.meta.url)),
);

export const CONFIG_NAMES = Object.keys(CONFIGS);

/** A copy of a model's config, to be changed. */
export function configOf(name: string): Record<string, unknown> {
  const found = CONFIGS[name];
  if (found === undefined) throw new Error(`no config of ${name}`);
  return structuredClone(found);
}

export function shapeOf(name: string): Shape {
  return readShape(readConfig(configOf(name), name));
}

const ISSUES = "https://github.com/vllm-project/vllm";
const AIC = "aiconfigurator 0.12.0 of NVIDIA, estimate_kv_cache on H200";
const LLAMA_CPP = "https://huggingface.co/dranger003/c4ai-command-r-v01-iMat.GGUF/discussions/6";
const INSIGHTS = "Insights into DeepSeek-V3, arXiv 2505.09343, table 1";

/** Bytes of a cache that holds so many tokens: on one card of `cards`. */
export interface PublishedCache {
  readonly model: string;
  readonly cards?: number;
  readonly type?: CacheType;
  readonly tokens: number;
  /** Exactly so many bytes, or GiB to the decimals that are written. */
  readonly bytes?: number;
  readonly gib?: string;
  /** Tokens that are read at once, where layers keep a window of them. */
  readonly batched?: number;
  readonly source: string;
}

const MIB = 1024 ** 2;

export const PUBLISHED_CACHES: readonly PublishedCache[] = [
  // Grouped queries, dense.
  { model: "Qwen/Qwen3-8B", tokens: 1, bytes: 147_456, source: AIC },
  {
    ...{ model: "Qwen/Qwen3-14B", tokens: 32_768, gib: "5.0" },
    source: "a start-up log of Qwen3-14B on an A100-40 at 0.85, in a public script of jobs",
  },
  {
    ...{ model: "Qwen/Qwen3-32B", tokens: 40_960, gib: "10.00" },
    source: "a start-up log of RedHatAI/Qwen3-32B-quantized.w4a16 on vLLM 0.9, 2025-06-02",
  },
  { model: "Qwen/Qwen3-32B", cards: 2, tokens: 1, bytes: 131_072, source: AIC },
  {
    model: "Qwen/Qwen2.5-32B-Instruct-AWQ",
    tokens: 4096,
    gib: "1.0",
    source: "vLLM's log, 2026-08-11",
  },
  { model: "Qwen/Qwen2.5-72B-Instruct", tokens: 1, bytes: 327_680, source: INSIGHTS },
  { model: "meta-llama/Meta-Llama-3.1-405B", tokens: 1, bytes: 516_096, source: INSIGHTS },
  { model: "meta-llama/Meta-Llama-3.1-8B", tokens: 2048, bytes: 256 * MIB, source: LLAMA_CPP },
  {
    model: "meta-llama/Meta-Llama-3-70B-Instruct",
    tokens: 2048,
    bytes: 640 * MIB,
    source: LLAMA_CPP,
  },
  { model: "Qwen/Qwen1.5-32B-Chat", tokens: 2048, bytes: 512 * MIB, source: LLAMA_CPP },
  { model: "01-ai/Yi-1.5-34B-Chat", tokens: 2048, bytes: 480 * MIB, source: LLAMA_CPP },
  // In 32 bits.
  {
    ...{ model: "HuggingFaceTB/SmolLM2-135M-Instruct", tokens: 1, bytes: 46_080 },
    source: "vLLM 0.32 on a CPU: 78,592 tokens of 3.38 GiB",
  },
  // Every head its own keys and values.
  { model: "CohereForAI/c4ai-command-r-v01", tokens: 2048, bytes: 2560 * MIB, source: LLAMA_CPP },
  {
    ...{ model: "facebook/opt-13b", tokens: 1, bytes: 800 * 1024 },
    source: "PagedAttention, arXiv 2309.06180: 800 KB a token of OPT-13B",
  },
  {
    model: "meta-llama/Llama-2-7b-hf",
    tokens: 1,
    bytes: 512 * 1024,
    source: "512 KiB a token, as is often told",
  },
  // Mixtures of experts.
  { model: "mistralai/Mixtral-8x7B-v0.1", tokens: 2048, bytes: 256 * MIB, source: LLAMA_CPP },
  { model: "Qwen/Qwen3-30B-A3B", tokens: 262_144, gib: "24.0", source: `${ISSUES}/issues/34076` },
  {
    ...{ model: "Qwen/Qwen3-30B-A3B", cards: 2, tokens: 262_144, gib: "12.0" },
    source: "a start-up log of Qwen3-30B-A3B-Instruct-2507 on 2 × L40S",
  },
  { model: "Qwen/Qwen3-235B-A22B", cards: 4, tokens: 1, bytes: 48_128, source: AIC },
  {
    model: "MiniMaxAI/MiniMax-M2.7",
    tokens: 204_800,
    gib: "48.44",
    source: `${ISSUES}/pull/42074`,
  },
  {
    ...{ model: "MiniMaxAI/MiniMax-M2.7", cards: 2, tokens: 196_608, gib: "23.25" },
    source: "https://github.com/eugr/spark-vllm-docker/issues/396",
  },
  {
    ...{ model: "MiniMaxAI/MiniMax-M2.7", cards: 4, tokens: 196_608, gib: "11.62" },
    source: "a start-up log of MiniMax-M2.7 on 4 Arc Pro B70, 2026-05-24",
  },
  // Reads images too.
  {
    ...{ model: "Qwen/Qwen3-VL-2B-Instruct", tokens: 262_144, gib: "28.00" },
    source: "a start-up log of Qwen3-VL on HyperPod",
  },
  // Latent attention.
  { model: "deepseek-ai/DeepSeek-V3", tokens: 1, bytes: 70_272, source: INSIGHTS },
  {
    model: "deepseek-ai/DeepSeek-V3",
    cards: 8,
    type: "fp8",
    tokens: 1,
    bytes: 35_136,
    source: AIC,
  },
  // A window in every second layer.
  {
    ...{ model: "openai/gpt-oss-120b", tokens: 131_072, gib: "4.79", batched: 8192 },
    source: "a start-up log of gpt-oss-120b on an H100, 2025",
  },
];

/** Tokens that vLLM's start-up lines say a pool holds. */
export interface PublishedContext {
  readonly model: string;
  readonly cards?: number;
  readonly type?: CacheType;
  readonly gib: number;
  readonly tokens: number;
  readonly batched?: number;
  readonly source: string;
}

export const PUBLISHED_CONTEXTS: readonly PublishedContext[] = [
  { model: "Qwen/Qwen3-1.7B", gib: 18.78, tokens: 175_856, source: `${ISSUES}/issues/33263` },
  { model: "Qwen/Qwen3-30B-A3B", gib: 3.18, tokens: 34_736, source: `${ISSUES}/issues/34076` },
  {
    ...{ model: "Qwen/Qwen3-30B-A3B", cards: 2, gib: 10.59, tokens: 231_328 },
    source: "a start-up log of Qwen3-30B-A3B-Instruct-2507 on 2 × L40S",
  },
  {
    ...{ model: "Qwen/Qwen3-235B-A22B", cards: 4, gib: 8.11, tokens: 178_880 },
    source: `${ISSUES}/issues/21348`,
  },
  {
    model: "meta-llama/Meta-Llama-3.1-8B",
    gib: 2.89,
    tokens: 23_648,
    source: `${ISSUES}/issues/10517`,
  },
  {
    ...{ model: "meta-llama/Meta-Llama-3.1-8B", gib: 3.81, tokens: 1952 * 16 },
    source: `${ISSUES}/issues/10517`,
  },
  { model: "MiniMaxAI/MiniMax-M2.7", gib: 24.85, tokens: 105_056, source: `${ISSUES}/pull/42074` },
  {
    ...{ model: "MiniMaxAI/MiniMax-M2.7", cards: 2, gib: 22.5, tokens: 190_272 },
    source: "https://github.com/eugr/spark-vllm-docker/issues/396",
  },
  {
    ...{ model: "MiniMaxAI/MiniMax-M2.7", cards: 2, gib: 28.74, tokens: 240_816 },
    source: "https://github.com/eugr/spark-vllm-docker/issues/396",
  },
  {
    ...{ model: "MiniMaxAI/MiniMax-M2.7", cards: 4, gib: 1.56, tokens: 26_368 },
    source: "a start-up log of MiniMax-M2.7 on 4 Arc Pro B70, 2026-05-24",
  },
  {
    model: "Qwen/Qwen2.5-32B-Instruct-AWQ",
    gib: .58,
    tokens: 2368,
    source: "vLLM's log, 2026-08-11",
  },
  {
    ...{ model: "Qwen/Qwen3-VL-2B-Instruct", gib: 13.69, tokens: 128_128 },
    source: "a start-up log of Qwen3-VL on HyperPod",
  },
  {
    ...{ model: "openai/gpt-oss-120b", gib: 4.06, tokens: 109_776, batched: 8192 },
    source: "a start-up log of gpt-oss-120b on an H100, 2025",
  },
  {
    ...{ model: "HuggingFaceTB/SmolLM2-135M-Instruct", gib: 3.38, tokens: 78_592 },
    source: "vLLM 0.32 on a CPU, --max-model-len 512",
  },
  // Latent vectors with index keys, the same on each of eight cards.
  {
    ...{ model: "zai-org/GLM-5-FP8", cards: 8, gib: 32.11, tokens: 344_192 },
    source: "a start-up log of GLM-5-FP8 on 8 × H200, 2026-05-19",
  },
];

/** Bytes of a model's weights by the index of its safetensors files. */
export interface PublishedWeights {
  readonly model: string;
  readonly bytes: number;
  readonly source: string;
}

const HUB =
  "metadata.total_size of its model.safetensors.index.json, as several repositories quote it";

export const PUBLISHED_WEIGHTS: readonly PublishedWeights[] = [
  // Mirrors of the hub's repositories, index and config side by side.
  {
    ...{ model: "tiiuae/falcon-180B-chat", bytes: 359_045_130_240 },
    source: "https://github.com/Alikhan13r/falcon-180B-chat/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "google/medgemma-27b-it", bytes: 54_864_813_280 },
    source: "https://github.com/Ibtasam-98/medgemma-27b-it/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "mattshumer/Reflection-Llama-3.1-70B", bytes: 282_215_219_200 },
    source:
      "https://github.com/MiMiGame-1/Reflection-Llama-3.1-70B/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "google/gemma-2b", bytes: 5_012_344_832 },
    source: "https://github.com/ananddhanabal/gemma/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "ibm-granite/granite-3b-code-instruct-128k", bytes: 6_965_007_360 },
    source:
      "https://github.com/ashishn-08/granite-3b-code-instruct-128k/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "deepcogito/cogito-v1-preview-qwen-14B", bytes: 29_531_895_808 },
    source:
      "https://github.com/fetchwiki/deepcogito-cogito-v1-preview-qwen-14B/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "mistralai/Devstral-Small-2507", bytes: 47_144_806_400 },
    source:
      "https://github.com/fetchwiki/mistralai-Devstral-Small-2507/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "cognitivecomputations/Dolphin3.0-R1-Mistral-24B", bytes: 47_144_847_360 },
    source: "https://github.com/gsasouza/dolphin3-mistral/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "XiaomiMiMo/MiMo-7B", bytes: 15_666_819_072 },
    source: "https://github.com/jj8127/mimo_kor/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "Qwen/Qwen-72B", bytes: 144_575_840_256 },
    source: "https://github.com/mapengAdam/qianwen-72B/blob/HEAD/model.safetensors.index.json",
  },
  {
    ...{ model: "alpindale/WizardLM-2-8x22B", bytes: 281_241_268_224 },
    source: "https://github.com/tbressers/WizardLM-2-8x22B/blob/HEAD/model.safetensors.index.json",
  },
  { model: "openai/gpt-oss-20b", bytes: 13_761_264_768, source: HUB },
  { model: "openai/gpt-oss-120b", bytes: 65_248_815_744, source: HUB },
  { model: "Qwen/Qwen3-235B-A22B", bytes: 470_187_269_120, source: HUB },
  // In 8 bits by blocks, with a layer for drafts.
  { model: "deepseek-ai/DeepSeek-V3", bytes: 688_586_727_753, source: HUB },
];

/** Bytes of weights on one card of several, without layers for drafts. */
export const WEIGHTS_A_CARD = [
  { model: "Qwen/Qwen3-8B", cards: 1, bytes: 16_380_854_272, source: AIC },
  { model: "Qwen/Qwen3-32B", cards: 1, bytes: 65_522_892_800, source: AIC },
  { model: "Qwen/Qwen3-32B", cards: 2, bytes: 32_761_446_400, source: AIC },
  { model: "Qwen/Qwen3-235B-A22B", cards: 4, bytes: 117_309_177_856, source: AIC },
] as const;
