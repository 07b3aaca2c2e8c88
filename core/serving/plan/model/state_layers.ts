import type { Mixer } from "./attention.ts";
import { countOf, type TextConfig } from "./config.ts";
import { matrix, plain, type State } from "./shape.ts";

const PART = "state layers";
const named = (end: string) => `model.layers.{}.${end}`;

function mixer(weights: Mixer["weights"], states: readonly State[]): Mixer {
  return { weights, caches: [{ kind: "state", states }] };
}

const is32 = (dtype: unknown) => typeof dtype === "string" && /32/.test(dtype);

/** Gated delta rule, as Qwen3-Next and Qwen3.5 have it in three layers of four. */
export function gatedDelta(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const [key_heads, value_heads] = [
    countOf(config, "linear_num_key_heads") ?? 16,
    countOf(config, "linear_num_value_heads") ?? 32,
  ];
  const [key_dim, value_dim] = [
    countOf(config, "linear_key_head_dim") ?? 128,
    countOf(config, "linear_value_head_dim") ?? 128,
  ];
  const kernel = countOf(config, "linear_conv_kernel_dim") ?? 4;
  const [keys, values] = [key_heads * key_dim, value_heads * value_dim];
  const mixed = 2 * keys + values;
  return mixer([
    matrix(PART, named("linear_attn.in_proj_qkv"), [mixed, hidden]),
    matrix(PART, named("linear_attn.in_proj_z"), [values, hidden]),
    matrix(PART, named("linear_attn.in_proj_a"), [2 * value_heads, hidden]),
    matrix(PART, named("linear_attn.out_proj"), [hidden, values]),
    plain(PART, named("linear_attn.conv1d"), mixed * kernel + 2 * value_heads + value_dim),
  ], [
    { elements: (kernel - 1) * mixed, float32: false },
    {
      elements: value_heads * key_dim * value_dim,
      float32: is32(config["mamba_ssm_dtype"]) || is32(config["mamba_ssm_cache_dtype"]),
    },
  ]);
}

/** Mamba 2: a state for each head, a convolution before it. */
export function mamba2(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const expand = typeof config["mamba_expand"] === "number"
    ? config["mamba_expand"]
    : countOf(config, "expand") ?? 2;
  const heads = countOf(config, "mamba_num_heads") ?? countOf(config, "mamba_n_heads") ??
    countOf(config, "num_heads") ?? 1;
  const dim = countOf(config, "mamba_head_dim") ?? countOf(config, "mamba_d_head") ??
    Math.floor(expand * hidden / heads);
  const groups = countOf(config, "n_groups") ?? countOf(config, "mamba_n_groups") ?? 1;
  const state = countOf(config, "ssm_state_size") ?? countOf(config, "mamba_d_state") ??
    countOf(config, "state_size") ?? 128;
  const kernel = countOf(config, "conv_kernel") ?? countOf(config, "mamba_d_conv") ?? 4;
  const inner = heads * dim;
  const convolved = inner + 2 * groups * state;
  return mixer([
    matrix(PART, named("mixer.in_proj"), [inner + convolved + heads, hidden]),
    matrix(PART, named("mixer.out_proj"), [hidden, inner]),
    plain(PART, named("mixer.conv1d"), convolved * (kernel + 1) + 3 * heads + inner),
  ], [
    { elements: (kernel - 1) * convolved, float32: false },
    { elements: heads * dim * state, float32: is32(config["mamba_ssm_cache_dtype"]) },
  ]);
}

/** The first Mamba: a state for each channel. */
export function mamba1(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const expand = countOf(config, "mamba_expand") ?? countOf(config, "expand") ?? 2;
  const inner = countOf(config, "intermediate_size") !== undefined &&
      /^(mamba|falcon_mamba)$/.test(config.model_type)
    ? config.intermediate_size!
    : expand * hidden;
  const state = countOf(config, "mamba_d_state") ?? countOf(config, "state_size") ?? 16;
  const kernel = countOf(config, "mamba_d_conv") ?? countOf(config, "conv_kernel") ?? 4;
  const rank = countOf(config, "mamba_dt_rank") ?? countOf(config, "time_step_rank") ??
    Math.ceil(hidden / 16);
  return mixer([
    matrix(PART, named("mamba.in_proj"), [2 * inner, hidden]),
    matrix(PART, named("mamba.x_proj"), [rank + 2 * state, inner]),
    matrix(PART, named("mamba.dt_proj"), [inner, rank], { plain: inner }),
    matrix(PART, named("mamba.out_proj"), [hidden, inner]),
    plain(PART, named("mamba.conv1d"), inner * (kernel + 1) + inner * (state + 1)),
  ], [
    { elements: (kernel - 1) * inner, float32: false },
    { elements: inner * state, float32: is32(config["mamba_ssm_cache_dtype"]) },
  ]);
}

/** A short gated convolution, as LFM2 has it. */
export function shortConvolution(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const kernel = countOf(config, "conv_L_cache") ?? 3;
  return mixer([
    matrix(PART, named("conv.in_proj"), [3 * hidden, hidden]),
    matrix(PART, named("conv.out_proj"), [hidden, hidden]),
    plain(PART, named("conv.conv"), hidden * kernel),
  ], [{ elements: (kernel - 1) * hidden, float32: false }]);
}

/** Kimi's delta attention: a gate for each channel of a head. */
export function kimiDelta(config: TextConfig): Mixer {
  const hidden = config.hidden_size!;
  const own = config.linear_attn_config!;
  const [heads, dim, kernel] = [own.num_heads, own.head_dim, own.short_conv_kernel_size];
  const wide = heads * dim;
  const gates = own.use_full_rank_gate === true
    ? [matrix(PART, named("self_attn.g_proj"), [wide, hidden])]
    : [
      matrix(PART, named("self_attn.g_a_proj"), [dim, hidden], { cut: "copied" }),
      matrix(PART, named("self_attn.g_b_proj"), [wide, dim]),
    ];
  return mixer([
    ...["q", "k", "v"].map((one) =>
      matrix(PART, named(`self_attn.${one}_proj`), [wide, hidden], { plain: wide * kernel })
    ),
    matrix(PART, named("self_attn.f_a_proj"), [dim, hidden], { cut: "copied" }),
    matrix(PART, named("self_attn.f_b_proj"), [wide, dim]),
    matrix(PART, named("self_attn.b_proj"), [heads, hidden]),
    ...gates,
    matrix(PART, named("self_attn.o_proj"), [hidden, wide], { plain: heads + wide + dim }),
  ], [
    { elements: 3 * (kernel - 1) * wide, float32: false },
    { elements: heads * dim * dim, float32: true },
  ]);
}
