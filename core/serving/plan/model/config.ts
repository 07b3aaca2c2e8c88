import { z } from "zod";
import { UsageError } from "../../../errors.ts";

/** A count that a config may leave out or set to null. */
const count = z.int().nonnegative().nullish().transform((value) => value ?? undefined);
const flag = z.boolean().nullish().transform((value) => value ?? undefined);
const word = z.string().nullish().transform((value) => value ?? undefined);
const words = z.array(z.string()).nullish().transform((value) => value ?? undefined);
const counts = z.array(z.int()).nullish().transform((value) => value ?? undefined);

const LinearAttention = z.looseObject({
  full_attn_layers: z.array(z.int()),
  num_heads: z.int().positive(),
  head_dim: z.int().positive(),
  short_conv_kernel_size: z.int().positive().default(4),
  use_full_rank_gate: z.boolean().nullish(),
});

/** A block of a model whose blocks differ, as neural architecture search leaves them. */
const BlockConfig = z.looseObject({
  attention: z.looseObject({ n_heads_in_group: count, no_op: flag, replace_with_linear: flag }),
  ffn: z.looseObject({ ffn_mult: z.number().nullish(), no_op: flag, replace_with_linear: flag }),
});

/** What the sums read of a config.json's text model; keys that are not here are not looked at. */
const TextConfig = z.looseObject({
  model_type: z.string().default("unknown"),
  architectures: words,
  hidden_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count,
  head_dim: count,
  v_head_dim: count,
  intermediate_size: count,
  vocab_size: count,
  max_position_embeddings: count,
  tie_word_embeddings: flag,
  dtype: word,
  torch_dtype: word,
  attention_bias: flag,
  attn_output_gate: flag,
  sliding_window: count,
  use_sliding_window: flag,
  sliding_window_pattern: z.union([z.int(), z.string()]).nullish(),
  layer_types: words,
  // Mixtures of experts.
  num_experts: z.union([z.int(), z.array(z.int())]).nullish(),
  num_experts_per_tok: count,
  moe_intermediate_size: z.union([z.int(), z.array(z.int())]).nullish(),
  first_k_dense_replace: count,
  moe_layer_freq: z.union([z.int(), z.array(z.int())]).nullish(),
  decoder_sparse_step: count,
  mlp_only_layers: counts,
  shared_expert_intermediate_size: count,
  n_shared_experts: count,
  // Latent attention.
  kv_lora_rank: count,
  q_lora_rank: count,
  qk_rope_head_dim: count,
  qk_nope_head_dim: count,
  index_head_dim: count,
  index_n_heads: count,
  num_nextn_predict_layers: count,
  linear_attn_config: LinearAttention.nullish(),
  block_configs: z.array(BlockConfig).nullish(),
  auto_map: z.record(z.string(), z.unknown()).nullish(),
  vision_config: z.record(z.string(), z.unknown()).nullish(),
  quantization_config: z.record(z.string(), z.unknown()).nullish(),
});
export type TextConfig = z.infer<typeof TextConfig>;

/** Other names of the same fact, the first that is there counts. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  hidden_size: ["n_embd", "d_model", "dim"],
  num_hidden_layers: ["n_layer", "n_layers", "num_layers"],
  num_attention_heads: ["n_head", "n_heads"],
  num_key_value_heads: [
    "n_head_kv",
    "num_kv_heads",
    "multi_query_group_num",
    "num_attention_groups",
  ],
  head_dim: ["attention_head_dim", "kv_channels"],
  intermediate_size: ["ffn_dim", "n_inner", "ffn_hidden_size", "d_ff"],
  vocab_size: ["padded_vocab_size"],
  max_position_embeddings: [
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_ctx",
  ],
  num_experts: ["n_routed_experts", "num_local_experts", "moe_num_experts"],
  num_experts_per_tok: [
    "num_experts_per_token",
    "experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_k",
  ],
  n_shared_experts: ["num_shared_experts", "moe_num_shared_experts"],
  attention_bias: ["qkv_bias", "add_qkv_bias", "bias"],
  layer_types: ["layers_block_type"],
};

/** What a family leaves out of its config as its library has it by default. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  gemma3_text: {
    ...{ vocab_size: 262_208, num_attention_heads: 8, num_key_value_heads: 4, head_dim: 256 },
    ...{ sliding_window: 4096, max_position_embeddings: 131_072 },
  },
  gpt2: { tie_word_embeddings: true },
};

const LETTERS: Readonly<Record<string, string>> = {
  mamba: "M",
  attention: "*",
  moe: "E",
  mlp: "-",
};

/** Newer configs of Nemotron-H list the names of their layers in place of letters. */
function asLetters(flat: Record<string, unknown>): void {
  const named = flat["layers_block_type"];
  if (flat["model_type"] !== "nemotron_h") return;
  if (Array.isArray(named)) {
    flat["hybrid_override_pattern"] = named.map((name) => LETTERS[String(name)] ?? "?").join("");
  }
  flat["num_hidden_layers"] ??= String(flat["hybrid_override_pattern"] ?? "").length;
}

/** Where a model that reads more than text keeps its text model. */
const NESTED = ["text_config", "llm_config", "language_config"] as const;

const Raw = z.looseObject({});

function nested(raw: Record<string, unknown>): Record<string, unknown> {
  for (const key of NESTED) {
    const inner = raw[key];
    if (typeof inner === "object" && inner !== null) {
      const own = Object.fromEntries(
        Object.entries(inner).filter(([, value]) => value !== null),
      );
      return { ...raw, ...own, model_type: own["model_type"] ?? raw["model_type"] };
    }
  }
  const thinker = raw["thinker_config"];
  return typeof thinker === "object" && thinker !== null
    ? nested(thinker as Record<string, unknown>) // an object was asked for above
    : raw;
}

/**
 * Reads a config.json, whatever its family calls its keys.
 *
 * @throws UsageError it is no model's config, or lacks what every sum needs
 */
export function readConfig(json: unknown, model: string): TextConfig {
  const outer = Raw.safeParse(json);
  if (!outer.success) {
    throw new UsageError(`Cannot plan for ${model} as its config.json is no JSON object`);
  }
  const read_text = nested(outer.data);
  const flat: Record<string, unknown> = {
    ...DEFAULTS[String(read_text["model_type"])],
    ...read_text,
  };
  asLetters(flat);
  for (const [key, others] of Object.entries(ALIASES)) {
    if (flat[key] !== undefined && flat[key] !== null) continue;
    const found = others.find((other) => flat[other] !== undefined && flat[other] !== null);
    if (found !== undefined) flat[key] = flat[found];
  }
  const read = TextConfig.safeParse({
    ...flat,
    architectures: outer.data["architectures"] ?? flat["architectures"],
    quantization_config: outer.data["quantization_config"] ?? outer.data["compression_config"] ??
      flat["quantization_config"],
  });
  if (!read.success) {
    const { path, message } = read.error.issues[0]!;
    throw new UsageError(
      `Cannot plan for ${model} as ${
        path.join(".")
      } of its config.json is not as expected: ${message}`,
    );
  }
  const needed = ["hidden_size", "num_hidden_layers", "vocab_size"] as const;
  const missing = needed.filter((key) => read.data[key] === undefined);
  if (missing.length > 0) {
    throw new UsageError(
      `Cannot plan for ${model} as its config.json has no ${missing.join(" and no ")}: ` +
        `its model_type is ${read.data.model_type}`,
    );
  }
  return read.data;
}

/** A count of the config that its family alone has. */
export function countOf(config: TextConfig, key: string): number | undefined {
  const value = config[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A list of counts of the config that its family alone has. */
export function listOf(config: TextConfig, key: string): readonly number[] | undefined {
  const value = config[key];
  return Array.isArray(value) && value.every((one) => typeof one === "number") ? value : undefined;
}

/** Bytes of a value in the type in which the model computes. */
export function valueBytes(config: TextConfig): number {
  return /32/.test(config.dtype ?? config.torch_dtype ?? "bfloat16") ? 4 : 2;
}
