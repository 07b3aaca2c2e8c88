import { countOf, listOf, type TextConfig } from "./config.ts";
import { familyOf } from "./families.ts";
import { matrix, plain, type Weight } from "./shape.ts";

const named = (end: string) => `model.layers.{}.mlp.${end}`;

/** An MLP of all tokens: three matrices, or two where nothing gates. */
export function dense(config: TextConfig, inner: number, where = ""): Weight[] {
  if (inner === 0) return [];
  const hidden = config.hidden_size!;
  const { ungated, mlp_bias } = familyOf(config);
  const biased = config["mlp_bias"] === true || mlp_bias === true;
  const bias = (values: number) => biased ? { plain: values } : {};
  const part = where === "" ? "mlp" : "experts";
  const one = (end: string, rows: number, columns: number) =>
    matrix(part, named(`${where}${end}`), [rows, columns], bias(rows));
  return [
    ...(ungated === true ? [] : [one("gate_proj", inner, hidden)]),
    one("up_proj", inner, hidden),
    one("down_proj", hidden, inner),
  ];
}

const first = (value: number | readonly number[] | null | undefined) =>
  typeof value === "number" ? value : value?.[0];

export function expertsOf(config: TextConfig): number {
  return first(config.num_experts) ?? 0;
}

/** The inner width of one expert: its own key, or the MLP's where there is none. */
export function expertSize(config: TextConfig): number {
  return first(config.moe_intermediate_size) ?? countOf(config, "expert_ffn_hidden_size") ??
    config.intermediate_size ?? 0;
}

/** The summed inner width of experts that every token goes through. */
function sharedSize(config: TextConfig): number {
  const own = config.shared_expert_intermediate_size ??
    countOf(config, "moe_shared_expert_intermediate_size") ??
    countOf(config, "share_expert_dim") ?? countOf(config, "shared_intermediate_size");
  if (own !== undefined) return own;
  if (config.model_type === "llama4_text") return config.intermediate_size ?? 0;
  return (config.n_shared_experts ?? 0) * expertSize(config);
}

/** A router, experts of which a token takes a few, and the ones that all tokens take. */
export function experts(config: TextConfig): Weight[] {
  const hidden = config.hidden_size!;
  const count = expertsOf(config);
  const inner = expertSize(config);
  const active = Math.min(1, (config.num_experts_per_tok ?? 1) / count);
  const latent = countOf(config, "moe_latent_size") ?? countOf(config, "routed_expert_hidden_size");
  const outer = latent ?? hidden;
  const { ungated } = familyOf(config);
  const biased = config.model_type === "gpt_oss";
  const expert = (end: string, rows: number, columns: number) =>
    matrix("experts", named(`experts.0.${end}`), [rows, columns], {
      ...{ copies: count, active, plain: biased ? count * rows : 0 },
    });
  const shared = sharedSize(config);
  const around = latent === undefined ? [] : [
    matrix("experts", named("fc1_latent_proj"), [latent, hidden], { cut: "copied" }),
    matrix("experts", named("fc2_latent_proj"), [hidden, latent], { cut: "copied" }),
  ];
  return [
    matrix("router", named("gate"), [count, hidden], {
      ...{ cut: "copied", plain: biased || config["scoring_func"] === "sigmoid" ? count : 0 },
    }),
    ...(ungated === true ? [] : [expert("gate_proj", inner, outer)]),
    expert("up_proj", inner, outer),
    expert("down_proj", outer, inner),
    ...around,
    ...dense(config, shared, "shared_experts."),
    ...(config.shared_expert_intermediate_size === undefined
      ? []
      : [plain("router", named("shared_expert_gate"), hidden)]),
  ];
}

/** Whether the layer has experts in place of an MLP. */
export function hasExperts(config: TextConfig, layer: number): boolean {
  if (expertsOf(config) <= 1) return false;
  const frequency = config.moe_layer_freq;
  if (Array.isArray(frequency)) return frequency[layer] === 1;
  if (config.mlp_only_layers?.includes(layer)) return false;
  if (layer < (config.first_k_dense_replace ?? countOf(config, "num_dense_layers") ?? 0)) {
    return false;
  }
  const listed = listOf(config, "moe_layers");
  if (listed !== undefined && listed.length > 0) return listed.includes(layer);
  const interleaved = countOf(config, "interleave_moe_layer_step") ?? config.decoder_sparse_step;
  if (interleaved !== undefined && interleaved > 0) return (layer + 1) % interleaved === 0;
  const period = countOf(config, "expert_layer_period");
  if (period !== undefined) return layer % period === (countOf(config, "expert_layer_offset") ?? 0);
  return typeof frequency !== "number" || frequency <= 0 || layer % frequency === 0;
}

/** The inner width of a layer without experts. */
export function denseSize(config: TextConfig): number {
  if (familyOf(config).halved === true) return (config.intermediate_size ?? 0) / 2;
  return countOf(config, "intermediate_size_mlp") ?? countOf(config, "dense_intermediate_size") ??
    config.intermediate_size ??
    (/^(gpt2|gpt_bigcode|bloom|falcon)$/.test(config.model_type) ? 4 * config.hidden_size! : 0);
}
