import { type AttentionOf, headDimOf, kvHeadsOf } from "./attention.ts";
import { countOf, listOf, type TextConfig } from "./config.ts";

/** What mixes the tokens of a layer. */
export type LayerKind =
  | { readonly mixes: "attention"; readonly own: AttentionOf }
  | { readonly mixes: "latent" | "delta" | "mamba2" | "mamba1" | "convolution" | "kimi delta" }
  /** Attention and Mamba 2 side by side. */
  | { readonly mixes: "both" }
  /** No mixer: an MLP or experts alone. */
  | { readonly mixes: "none" };

const ALL: LayerKind = { mixes: "attention", own: { keeps: "all" } };

function windowed(config: TextConfig): LayerKind {
  const span = config.sliding_window;
  return span === undefined ? ALL : { mixes: "attention", own: { keeps: "window", span } };
}

const MAMBA_FIRST = /^(jamba|mamba|falcon_mamba)$/;

/** A layer as `layer_types` calls it. */
function byName(config: TextConfig, name: string): LayerKind {
  switch (name) {
    case "sliding_attention":
    case "local":
      return windowed(config);
    case "chunked_attention": {
      const span = countOf(config, "attention_chunk_size");
      return { mixes: "attention", own: { keeps: "chunk", span } };
    }
    case "linear_attention":
      return { mixes: "delta" };
    case "conv":
      return { mixes: "convolution" };
    case "mamba":
    case "mamba2":
      return { mixes: MAMBA_FIRST.test(config.model_type) ? "mamba1" : "mamba2" };
    case "moe":
    case "mlp":
      return { mixes: "none" };
    case "hybrid":
      return { mixes: "both" };
    default:
      return ALL;
  }
}

/** Gemma 4: layers that keep all have heads of their own size. */
function gemma4(config: TextConfig, layer: number): LayerKind {
  const kind = byName(config, config.layer_types?.[layer] ?? "full_attention");
  if (kind.mixes !== "attention" || kind.own.keeps !== "all") return kind;
  const kv_heads = countOf(config, "num_global_key_value_heads") ?? kvHeadsOf(config);
  const dim = countOf(config, "global_head_dim") ?? headDimOf(config);
  const value_is_key = config["attention_k_eq_v"] === true;
  return {
    mixes: "attention",
    own: { keeps: "all", kv_heads, key_dim: dim, value_dim: dim, value_is_key },
  };
}

/** MiMo-V2: layers with a window have heads of their own count and size. */
function mimo(config: TextConfig, layer: number): LayerKind {
  if (listOf(config, "hybrid_layer_pattern")?.[layer] !== 1) return ALL;
  return {
    mixes: "attention",
    own: {
      ...{ keeps: "window", span: config.sliding_window },
      heads: countOf(config, "swa_num_attention_heads") ?? config.num_attention_heads!,
      kv_heads: countOf(config, "swa_num_key_value_heads") ?? kvHeadsOf(config),
      key_dim: countOf(config, "swa_head_dim") ?? headDimOf(config),
      value_dim: countOf(config, "swa_v_head_dim") ?? headDimOf(config),
    },
  };
}

/** Families that say which layer is which by a rule of their own; layers count from 0. */
const BY_RULE: Readonly<Record<string, (config: TextConfig, layer: number) => LayerKind>> = {
  nemotron_h: (config, layer) => {
    const letter = String(config["hybrid_override_pattern"] ?? "")[layer];
    if (letter === "M") return { mixes: "mamba2" };
    return letter === "*" ? ALL : { mixes: "none" };
  },
  jamba: (config, layer) =>
    layer % (countOf(config, "attn_layer_period") ?? 8) ===
        (countOf(config, "attn_layer_offset") ?? 4)
      ? ALL
      : { mixes: "mamba1" },
  bamba: (config, layer) =>
    listOf(config, "attn_layer_indices")?.includes(layer) === true ? ALL : { mixes: "mamba2" },
  falcon_h1: () => ({ mixes: "both" }),
  mamba: () => ({ mixes: "mamba1" }),
  falcon_mamba: () => ({ mixes: "mamba1" }),
  mamba2: () => ({ mixes: "mamba2" }),
  kimi_linear: (config, layer) =>
    config.linear_attn_config?.full_attn_layers.includes(layer + 1) === false
      ? { mixes: "kimi delta" }
      : { mixes: "latent" },
  gemma4_text: gemma4,
  mimo_v2_flash: mimo,
  gemma2: (config, layer) => layer % 2 === 0 ? windowed(config) : ALL,
  llama4_text: (config, layer) => (layer + 1) % 4 === 0 ? ALL : byName(config, "chunked_attention"),
  qwen3_next: (config, layer) =>
    (layer + 1) % (countOf(config, "full_attention_interval") ?? 4) === 0
      ? ALL
      : { mixes: "delta" },
  gpt_oss: (config, layer) => layer % 2 === 0 ? windowed(config) : ALL,
  lfm2: (config, layer) =>
    listOf(config, "full_attn_idxs")?.includes(layer) === true ? ALL : { mixes: "convolution" },
};

/** Rules that hold although `layer_types` is there: it says less than the family does. */
const RULE_FIRST = new Set(["gemma4_text", "mimo_v2_flash", "nemotron_h", "kimi_linear"]);

/** One layer in so many keeps all, the others a window. */
function everySo(config: TextConfig, layer: number): LayerKind {
  const pattern = config.sliding_window_pattern;
  if (typeof pattern === "string") {
    return pattern[layer % pattern.length] === "L" ? windowed(config) : ALL;
  }
  if (typeof pattern === "number" && pattern > 0) {
    return (layer + 1) % pattern === 0 ? ALL : windowed(config);
  }
  return windowed(config);
}

/** What mixes the tokens of a layer, by what the config says and else by the family's rule. */
export function layerKind(config: TextConfig, layer: number, latent: boolean): LayerKind {
  const rule = BY_RULE[config.model_type];
  if (rule !== undefined && RULE_FIRST.has(config.model_type)) return rule(config, layer);
  if (latent) return { mixes: "latent" };
  const listed = config.layer_types?.[layer];
  if (listed !== undefined) {
    const kind = byName(config, listed);
    // Qwen keeps the list where it does not use it.
    const unused = config.use_sliding_window === false && listed === "sliding_attention";
    return unused ? ALL : kind;
  }
  if (rule !== undefined) return rule(config, layer);
  if (config.use_sliding_window === false) return ALL;
  if (/^gemma3/.test(config.model_type)) {
    return everySo(
      { ...config, sliding_window_pattern: config.sliding_window_pattern ?? 6 },
      layer,
    );
  }
  return everySo(config, layer);
}

/** Whether the layer uses the keys and values of an earlier one. */
export function borrows(config: TextConfig, layer: number): boolean {
  const shared = countOf(config, "num_kv_shared_layers") ?? 0;
  return shared > 0 && layer >= config.num_hidden_layers! - shared;
}
