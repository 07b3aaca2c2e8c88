import type { TextConfig } from "./config.ts";

/** What a family has that its config does not say. */
export interface Family {
  /** Its MLP has two matrices in place of three. */
  readonly ungated?: boolean;
  /** Its config counts the two upper matrices of the MLP as one. */
  readonly halved?: boolean;
  readonly qkv_bias?: boolean;
  /** The output projection of attention has a bias where the others have one. */
  readonly out_bias?: boolean;
  /** Norms of queries and keys: one for all heads, or one as wide as all heads. */
  readonly qk_norm?: "head" | "all";
  /** Norms of the hidden size in a layer; default two. */
  readonly norms?: number;
  /** Biases beside the MLP's matrices. */
  readonly mlp_bias?: boolean;
  /** Embeddings of positions, in multiples of the hidden size by position. */
  readonly positions?: boolean;
  /** The head is the embedding although the config does not say so. */
  readonly tied?: boolean;
  /** Layers for drafts stand in the checkpoint beside the model's. */
  readonly drafts?: "with embedding" | "bare";
  /** Name of its parser of tool calls in vLLM; see tool_parsers.ts for what a name of a model adds. */
  readonly parser?: string;
  /** What it is called in SGLang. */
  readonly sglang_parser?: string;
  /** The config only runs with the code that lies beside it. */
  readonly own_code?: boolean;
}

const GEMMA: Family = { tied: true, norms: 4, qk_norm: "head" };
const QWEN35: Family = {
  ...{ qk_norm: "head", drafts: "bare", parser: "qwen3_coder", sglang_parser: "qwen3_coder" },
};
const DEEPSEEK: Family = {
  ...{ drafts: "with embedding", parser: "deepseek_v3", sglang_parser: "deepseekv3" },
};

/** Families by `model_type`. A model that is in no row is read as a plain decoder, and it is said. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  llama: {},
  mistral: { parser: "mistral", sglang_parser: "mistral" },
  mistral3: { parser: "mistral", sglang_parser: "mistral" },
  ministral: { parser: "mistral", sglang_parser: "mistral" },
  ministral3: { parser: "mistral", sglang_parser: "mistral" },
  mixtral: { parser: "mistral", sglang_parser: "mistral" },
  qwen: { qkv_bias: true, halved: true, parser: "hermes" },
  qwen2: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen2_moe: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen2_vl: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen2_vl_text: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen2_5_vl: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen2_5_vl_text: { qkv_bias: true, parser: "hermes", sglang_parser: "qwen25" },
  qwen3: { qk_norm: "head", parser: "hermes", sglang_parser: "qwen25" },
  qwen3_moe: { qk_norm: "head", parser: "hermes", sglang_parser: "qwen25" },
  qwen3_vl_text: { qk_norm: "head", parser: "hermes", sglang_parser: "qwen25" },
  qwen3_vl_moe_text: { qk_norm: "head", parser: "hermes", sglang_parser: "qwen25" },
  qwen3_next: { ...QWEN35, parser: "hermes", sglang_parser: "qwen25" },
  qwen3_5_text: QWEN35,
  qwen3_5_moe_text: QWEN35,
  gemma: { tied: true },
  gemma2: { tied: true, norms: 4 },
  gemma3_text: { ...GEMMA, parser: "pythonic", sglang_parser: "pythonic" },
  gemma3: { ...GEMMA, parser: "pythonic", sglang_parser: "pythonic" },
  gemma4_text: { ...GEMMA, norms: 7, parser: "gemma4", sglang_parser: "gemma4" },
  phi: { ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 1 },
  phi3: { parser: "phi4_mini_json" },
  phimoe: { qkv_bias: true, out_bias: true, parser: "phi4_mini_json" },
  granite: { parser: "granite" },
  granitemoe: { parser: "granite" },
  granitemoehybrid: { parser: "granite4" },
  bamba: {},
  olmo: { norms: 0 },
  olmo2: { qk_norm: "all" },
  olmo3: { qk_norm: "all", parser: "olmo3" },
  olmoe: { qk_norm: "all" },
  cohere: { tied: true, norms: 1, parser: "cohere_command3" },
  cohere2: { tied: true, norms: 1, parser: "cohere_command3" },
  stablelm: { norms: 4 },
  starcoder2: { ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4 },
  gpt2: {
    ...{ ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4 },
    ...{ positions: true, tied: true },
  },
  gpt_neox: { ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4 },
  gpt_bigcode: {
    ...{ ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4 },
    ...{ positions: true, tied: true },
  },
  opt: {
    ...{ ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4 },
    ...{ positions: true, tied: true },
  },
  bloom: { ungated: true, qkv_bias: true, out_bias: true, mlp_bias: true, norms: 4, tied: true },
  falcon: { ungated: true, norms: 4 },
  nemotron: { ungated: true, norms: 4 },
  internlm2: { parser: "internlm" },
  internlm3: { parser: "internlm" },
  exaone4: { qk_norm: "head", parser: "hermes" },
  smollm3: { parser: "hermes" },
  seed_oss: { qkv_bias: true, parser: "seed_oss" },
  mimo: { qkv_bias: true, drafts: "bare", parser: "mimo" },
  mimo_v2_flash: { parser: "mimo", own_code: true },
  gpt_oss: { qkv_bias: true, out_bias: true, parser: "openai", sglang_parser: "gpt-oss" },
  llama4_text: { parser: "llama4_pythonic", sglang_parser: "pythonic" },
  glm4: { qkv_bias: true, norms: 4, parser: "glm45", sglang_parser: "glm45" },
  glm4_moe: {
    ...{ qk_norm: "head", drafts: "with embedding", parser: "glm45", sglang_parser: "glm45" },
  },
  glm4_moe_lite: { drafts: "with embedding", parser: "glm47", sglang_parser: "glm45" },
  glm_moe_dsa: { drafts: "with embedding", parser: "glm47", sglang_parser: "glm45" },
  deepseek_v2: { parser: "deepseek_v3" },
  deepseek_v3: DEEPSEEK,
  deepseek_v32: { ...DEEPSEEK, parser: "deepseek_v32", sglang_parser: "deepseekv32" },
  kimi_k2: { parser: "kimi_k2", sglang_parser: "kimi_k2" },
  kimi_linear: { parser: "kimi_k2", sglang_parser: "kimi_k2", own_code: true },
  minimax_m2: { qk_norm: "all", parser: "minimax_m2", sglang_parser: "minimax-m2" },
  "nemotron-nas": { own_code: true, parser: "llama3_json" },
  nemotron_h: { ungated: true, norms: 1, parser: "qwen3_coder" },
  jamba: { parser: "jamba" },
  mamba: { tied: true, norms: 1 },
  mamba2: { tied: true, norms: 1 },
  falcon_mamba: { norms: 1 },
  falcon_h1: { parser: "hermes" },
  lfm2: { qk_norm: "head", tied: true, parser: "lfm2" },
  lfm2_moe: { qk_norm: "head", tied: true, parser: "lfm2" },
  apertus: { ungated: true, qk_norm: "head", parser: "apertus" },
  ernie4_5: { parser: "ernie45" },
  ernie4_5_moe: { parser: "ernie45" },
  step3p5: { qk_norm: "head", parser: "step3p5", own_code: true },
};

/** Families whose cache the sums do not know: none is guessed. */
export const UNKNOWN_CACHES: Readonly<Record<string, string>> = {
  deepseek_v4: "its layers compress the cache by different ratios",
  deepseek_v41: "its layers compress the cache by different ratios",
  deepseek_ref: "its layers compress the cache by different ratios",
};

export function familyOf({ model_type }: TextConfig): Family {
  return FAMILIES[model_type] ?? {};
}
