import { UsageError } from "../../../errors.ts";
import { attention, isLatent, latentAttention, type Mixer } from "./attention.ts";
import { countOf, type TextConfig, valueBytes } from "./config.ts";
import { FAMILIES, familyOf, UNKNOWN_CACHES } from "./families.ts";
import { dense, denseSize, experts, expertSize, expertsOf, hasExperts } from "./feed_forward.ts";
import { borrows, type LayerKind, layerKind } from "./layer_kinds.ts";
import { type Divisor, type Layer, matrix, plain, type Shape, type Weight } from "./shape.ts";
import { gatedDelta, kimiDelta, mamba1, mamba2, shortConvolution } from "./state_layers.ts";
import { visionWeights } from "./vision.ts";

function mixerOf(config: TextConfig, kind: LayerKind, layer: number): Mixer {
  switch (kind.mixes) {
    case "attention":
      return attention(config, { ...kind.own, borrows: borrows(config, layer) });
    case "latent":
      return latentAttention(config);
    case "delta":
      return gatedDelta(config);
    case "mamba1":
      return mamba1(config);
    case "mamba2":
      return mamba2(config);
    case "convolution":
      return shortConvolution(config);
    case "kimi delta":
      return kimiDelta(config);
    case "both": {
      const [one, other] = [attention(config, { keeps: "all" }), mamba2(config)];
      return {
        weights: [...one.weights, ...other.weights],
        caches: [...one.caches, ...other.caches],
      };
    }
    case "none":
      return { weights: [], caches: [] };
  }
}

/** Whether a layer of a pattern has an MLP beside its mixer: one that stands alone is a layer there. */
function feedForward(config: TextConfig, layer: number): Weight[] {
  if (config.model_type === "nemotron_h") {
    const letter = String(config["hybrid_override_pattern"] ?? "")[layer];
    if (letter === "-") return dense(config, denseSize(config));
    return letter === "E" ? experts(config) : [];
  }
  if (/^(mamba|mamba2|falcon_mamba)$/.test(config.model_type)) return [];
  if (config["enable_moe_block"] === true) {
    return [...dense(config, denseSize(config)), ...experts(config)];
  }
  return hasExperts(config, layer) ? experts(config) : dense(config, denseSize(config));
}

/** A layer of a model whose blocks differ: some have no attention, some a narrow MLP. */
function blockOf(config: TextConfig, layer: number): Mixer {
  const { attention: own, ffn } = config.block_configs![layer]!;
  const hidden = config.hidden_size!;
  const heads = config.num_attention_heads!;
  const mixer = own.no_op === true
    ? { weights: [], caches: [] }
    : own.replace_with_linear === true
    ? {
      weights: [matrix("attention", "model.layers.{}.self_attn.linear", [hidden, hidden])],
      caches: [],
    }
    : attention(config, { keeps: "all", kv_heads: heads / (own.n_heads_in_group ?? 1) });
  const inner = Math.ceil(Math.floor(2 * (ffn.ffn_mult ?? 0) * hidden / 3) / 256) * 256;
  return {
    weights: [...mixer.weights, ...(ffn.no_op === true ? [] : dense(config, inner))],
    caches: mixer.caches,
  };
}

function layerOf(config: TextConfig, layer: number, latent: boolean): Layer {
  const norms = plain(
    "norms",
    "model.layers.{}.norm",
    (familyOf(config).norms ?? 2) * config.hidden_size!,
  );
  const one = config.block_configs?.[layer] !== undefined
    ? blockOf(config, layer)
    : mixerOf(config, layerKind(config, layer, latent), layer);
  const rest = config.block_configs?.[layer] !== undefined ? [] : feedForward(config, layer);
  return {
    weights: [...one.weights, ...rest, norms].map((weight) => ({
      ...weight,
      layer,
      name: weight.name.replace("{}", String(layer)),
    })),
    caches: one.caches,
  };
}

/** Layers that draft tokens: they stand in the checkpoint and are loaded for speculation alone. */
function draftWeights(config: TextConfig, layers: readonly Layer[]): Weight[] {
  const { drafts } = familyOf(config);
  const count = config.num_nextn_predict_layers ?? countOf(config, "mtp_num_hidden_layers") ?? 0;
  if (drafts === undefined || count === 0) return [];
  const [hidden, vocab] = [config.hidden_size!, config.vocab_size!];
  const last = layers.at(-1)!.weights;
  const part = "draft layers";
  return Array.from({ length: count }, () => [
    ...last.map((weight) => ({ ...weight, part, name: `mtp.${weight.name}` } as const)),
    matrix(part, "mtp.eh_proj", [hidden, 2 * hidden]),
    ...(drafts === "with embedding"
      ? [
        plain(part, "mtp.embed_tokens", vocab * hidden),
        plain(part, "mtp.shared_head.head", vocab * hidden),
      ]
      : []),
  ]).flat();
}

function divisorsOf(config: TextConfig, latent: boolean, layers: readonly Layer[]): Divisor[] {
  const found: Divisor[] = [];
  const add = (what: string, value: number | undefined, copies = false) => {
    if (value !== undefined && value > 0) found.push({ what, value, copies });
  };
  add("attention heads", config.num_attention_heads);
  const kept = layers.flatMap(({ caches }) => caches);
  if (!latent && kept.some(({ kind }) => kind === "tokens")) {
    for (const kv of new Set(kept.map((one) => one.kind === "tokens" ? one.kv_heads : 0))) {
      add("KV heads", kv, true);
    }
  }
  if (kept.some(({ kind }) => kind === "state")) {
    add("linear key heads", countOf(config, "linear_num_key_heads"));
    add("linear value heads", countOf(config, "linear_num_value_heads"));
    add("state heads", countOf(config, "mamba_num_heads") ?? countOf(config, "mamba_n_heads"));
    add("linear heads", config.linear_attn_config?.num_heads);
  }
  const hasDense = layers.some(({ weights }) => weights.some(({ part }) => part === "mlp"));
  if (hasDense && config.block_configs == null) add("inner size", denseSize(config));
  if (expertsOf(config) > 1) add("inner size of an expert", expertSize(config));
  return found;
}

/**
 * The model that a config describes: every weight by part and name, what each layer keeps of the past,
 * and the numbers that a count of cards must divide.
 *
 * @throws UsageError its cache is of a kind that is not known here: nothing is guessed
 */
export function readShape(config: TextConfig): Shape {
  const unknown = UNKNOWN_CACHES[config.model_type];
  if (unknown !== undefined) {
    throw new UsageError(
      `Cannot plan for a ${config.model_type} model as ${unknown} in a way that is not known here`,
    );
  }
  const latent = isLatent(config);
  const [hidden, vocab] = [config.hidden_size!, config.vocab_size!];
  const layers = Array.from(
    { length: config.num_hidden_layers! },
    (_, layer) => layerOf(config, layer, latent),
  );
  const family = familyOf(config);
  const tied = config.tie_word_embeddings ?? family.tied ?? false;
  const positions = family.positions === true ? config.max_position_embeddings ?? 0 : 0;
  const by = { cut: "by vocabulary" } as const;
  const outside = [
    matrix("embedding", "model.embed_tokens", [vocab, hidden], by),
    ...(positions > 0 ? [plain("embedding", "model.embed_positions", positions * hidden)] : []),
    ...(tied ? [] : [matrix("head", "lm_head", [vocab, hidden], by)]),
    plain("norms", "model.norm", hidden),
    ...visionWeights(config),
    ...draftWeights(config, layers),
  ];
  const used = expertsOf(config) > 1
    ? (config.num_experts_per_tok ?? 1) * expertSize(config)
    : denseSize(config);
  return {
    ...{ model_type: config.model_type, layers, outside, hidden_size: hidden, vocab_size: vocab },
    ...{ tied, latent, divisors: divisorsOf(config, latent, layers) },
    native_context: config.max_position_embeddings ?? null,
    value_bytes: valueBytes(config),
    inner_size: used,
    guessed: FAMILIES[config.model_type] === undefined,
  };
}
