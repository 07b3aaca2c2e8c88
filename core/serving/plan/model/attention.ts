import { UsageError } from "../../../errors.ts";
import { countOf, type TextConfig } from "./config.ts";
import { type Cache, matrix, plain, type Weight } from "./shape.ts";
import { familyOf } from "./families.ts";

/** What a mixer of tokens brings: its weights and what it keeps. */
export interface Mixer {
  readonly weights: readonly Weight[];
  readonly caches: readonly Cache[];
}

/** What an attention layer's own settings are where they differ from its model's. */
export interface AttentionOf {
  readonly heads?: number;
  readonly kv_heads?: number;
  readonly key_dim?: number;
  readonly value_dim?: number;
  readonly keeps: "all" | "window" | "chunk";
  readonly span?: number | undefined;
  /** Keys and values of another layer are used: none of its own. */
  readonly borrows?: boolean;
  /** Values are the keys: no projection of their own. */
  readonly value_is_key?: boolean;
}

export function headsOf(config: TextConfig): number {
  const heads = config.num_attention_heads;
  if (heads === undefined || heads === 0) {
    throw new UsageError(
      `Cannot plan for a ${config.model_type} model as its config.json has no num_attention_heads`,
    );
  }
  return heads;
}

export function kvHeadsOf(config: TextConfig): number {
  if (config["multi_query"] === true && config["new_decoder_architecture"] !== true) return 1;
  return config.num_key_value_heads ?? headsOf(config);
}

export function headDimOf(config: TextConfig): number {
  return config.head_dim || Math.floor(config.hidden_size! / headsOf(config));
}

/** Attention with keys and values of its own heads: all heads, groups of them, or one. */
export function attention(config: TextConfig, own: AttentionOf): Mixer {
  const hidden = config.hidden_size!;
  const heads = own.heads ?? headsOf(config);
  const kv_heads = own.kv_heads ?? kvHeadsOf(config);
  const key_dim = own.key_dim ?? headDimOf(config);
  const value_dim = own.value_dim ?? config.v_head_dim ?? key_dim;
  const family = familyOf(config);
  const biased = config.attention_bias ?? family.qkv_bias ?? false;
  const gated = config.attn_output_gate === true ? 2 : 1;
  const bias = (values: number) => biased ? { plain: values } : {};
  const name = (end: string) => `model.layers.{}.self_attn.${end}`;
  const query = matrix("attention", name("q_proj"), [heads * key_dim * gated, hidden], {
    ...bias(heads * key_dim),
  });
  const out = matrix("attention", name("o_proj"), [hidden, heads * value_dim], {
    ...(biased && family.out_bias === true ? { plain: hidden } : {}),
  });
  const norms = plain("norms", name("q_norm"), normValues(config, heads, kv_heads, key_dim));
  if (own.borrows === true) return { weights: [query, out, norms], caches: [] };
  const by = { cut: "by kv heads" as const };
  const key = matrix("attention", name("k_proj"), [kv_heads * key_dim, hidden], {
    ...by,
    ...bias(kv_heads * key_dim),
  });
  const value = matrix("attention", name("v_proj"), [kv_heads * value_dim, hidden], {
    ...by,
    ...bias(kv_heads * value_dim),
  });
  return {
    weights: own.value_is_key === true ? [query, key, out, norms] : [query, key, value, out, norms],
    caches: [{
      ...{ kind: "tokens", kv_heads, key_dim, value_dim, keeps: own.keeps },
      span: own.keeps === "all" ? null : own.span ?? null,
    }],
  };
}

function normValues(config: TextConfig, heads: number, kv_heads: number, dim: number): number {
  const { qk_norm } = familyOf(config);
  if (qk_norm === "head") return 2 * dim;
  return qk_norm === "all" ? (heads + kv_heads) * dim : 0;
}

/** Latent attention: keys and values are made of one small vector a token, which alone is kept. */
export function latentAttention(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const heads = headsOf(config);
  const rank = config.kv_lora_rank!;
  const rope = config.qk_rope_head_dim ?? 0;
  const nope = config.qk_nope_head_dim ?? 0;
  const value = config.v_head_dim ?? nope;
  const name = (end: string) => `model.layers.{}.self_attn.${end}`;
  const q_rank = config.q_lora_rank;
  const queries = q_rank === undefined || q_rank === 0
    ? [matrix("attention", name("q_proj"), [heads * (nope + rope), hidden])]
    : [
      matrix("attention", name("q_a_proj"), [q_rank, hidden], { plain: q_rank, cut: "copied" }),
      matrix("attention", name("q_b_proj"), [heads * (nope + rope), q_rank]),
    ];
  const index_dim = config.index_head_dim ?? null;
  const indexer = index_dim === null ? [] : [
    matrix("attention", name("indexer.wq_b"), [
      (config.index_n_heads ?? 0) * index_dim,
      q_rank ?? hidden,
    ], { cut: "copied" }),
    matrix("attention", name("indexer.wk"), [index_dim, hidden], {
      ...{ plain: 2 * index_dim, cut: "copied" },
    }),
    plain("attention", name("indexer.weights_proj"), hidden * (config.index_n_heads ?? 0)),
  ];
  const gate = config["mla_use_output_gate"] === true
    ? [matrix("attention", name("g_proj"), [heads * value, hidden])]
    : [];
  return {
    weights: [
      ...queries,
      matrix("attention", name("kv_a_proj_with_mqa"), [rank + rope, hidden], {
        ...{ plain: rank, cut: "copied" },
      }),
      matrix("attention", name("kv_b_proj"), [heads * (nope + value), rank]),
      matrix("attention", name("o_proj"), [hidden, heads * value]),
      ...gate,
      ...indexer,
    ],
    caches: [{ kind: "latent", width: rank + rope, index_dim }],
  };
}

/** Whether the model keeps one vector a token in place of keys and values. */
export function isLatent(config: TextConfig): boolean {
  return (config.kv_lora_rank ?? 0) > 0 && countOf(config, "qk_rope_head_dim") !== undefined;
}
