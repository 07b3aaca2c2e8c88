/** The cells of the benchmark: methods, mixes, kept layers, libraries alone; the most telling first. */
import type { ActionInput } from "../../../core/mod.ts";

export type Set = "methods" | "mixes" | "kept" | "bare";
export type Action = ActionInput & {
  readonly params: Readonly<Record<string, number | string | boolean>>;
};

export interface Cell {
  readonly name: string;
  readonly set: Set;
  /** What measure_quantized.py is asked beside texts and model. */
  readonly asked:
    | { readonly actions: readonly Action[] }
    | { readonly bare: { readonly method: string; readonly params: object } }
    | { readonly mix: object }
    | { readonly kept: object }
    /** The assignment that another cell found, calibrated anew. */
    | { readonly anew: string };
}

type Params = Action["params"];

const GROUP = 64;
/** Of a grid of groups with a 16-bit scale each, beside its integers' bits. */
const SCALES = 16 / GROUP;

function act(method: string, params: Params): Action {
  return { agent: "quantization", method, params };
}

/** Knobs that are not a method's defaults, which all others are. */
const KNOBS: Readonly<Record<string, Params>> = { rtn: { clip: true } };

function method(name: string, bits: number, group_size = GROUP): Cell {
  const params = { bits, group_size, ...KNOBS[name] };
  const group = group_size === GROUP ? "" : ` g${group_size}`;
  return {
    name: `${name} ${bits}${group}`,
    set: "methods",
    asked: { actions: [act(name, params)] },
  };
}

function alone(name: string, action: Action): Cell {
  return { name, set: "methods", asked: { actions: [action] } };
}

/** Scored by Fisher, rounded by GPTQ, each layer after the mix before it. */
function mixed(average_bits: number): Cell {
  const params = { average_bits, layer_bits: "2-3-4-8", group_size: GROUP, rounded_by: "gptq" };
  return alone(`mixed ${average_bits}`, act("mixed", { ...params, samples: 16 }));
}

function corrected(bits: number): Cell {
  const rounded = act("rtn", { bits, group_size: GROUP, ...KNOBS.rtn });
  const actions = [rounded, act("eora", {})];
  return { name: `rtn ${bits} + eora`, set: "methods", asked: { actions } };
}

const FIRST = [4, 3];
const COMMON = ["rtn", "gptq"];
const FURTHER = ["hqq", "awq", "fisher_clip"];

/** Every method at the widths that it can have. */
const METHODS: readonly Cell[] = [
  { name: "original", set: "methods", asked: { actions: [] } },
  ...FIRST.flatMap((bits) => COMMON.map((name) => method(name, bits))),
  ...[alone("nf4", act("nf4", {})), method("autoround", 4), method("autoround", 3)],
  ...FIRST.map((bits) => mixed(bits + SCALES)),
  ...FURTHER.flatMap((name) => FIRST.map((bits) => method(name, bits))),
  ...FIRST.map(corrected),
  alone("nf4 double", act("nf4", { double_quant: true })),
  alone("mxfp4", act("fp", { float_format: "mxfp4" })),
  alone("nvfp4", act("fp", { float_format: "nvfp4" })),
  ...FIRST.map((bits) => method("qat", bits)),
  ...["gptq", "autoround", "hqq", "awq"].map((name) => method(name, 2)),
  mixed(2.5),
  ...["int8", "smoothquant"].map((name) => alone(name, act(name, { activation_group_size: 64 }))),
  ...[alone("fp8", act("fp", { float_format: "fp8" })), method("rtn", 8), method("gptq", 8)],
  ...["rtn", "fisher_clip", "qat"].map((name) => method(name, 2)),
  corrected(2),
  ...["autoround", "awq", "hqq", "fisher_clip", "qat"].map((name) => method(name, 8)),
];

/** Bits per linear weight that mixes may have. */
export const BUDGETS = [3.25, 3.75, 4.25];

/** Each width by groups of 32, of 64 and by rows, as `pare mix` has them. */
const TWELVE = [2, 3, 4, 8].flatMap((bits) =>
  ["-g32", "-g64", ""].map((group) => `${bits}-bit${group}`)
);
const CALIBRATION = { windows: 16, tokens: 256 };
/** What the shapes beside a layer's integers take, at most: the uniform format fits its own budget. */
const SHAPES = 0.001;

function mix(bits: number, fused: boolean): Cell[] {
  const name = `mix ${bits}${fused ? "" : " free"}`;
  const budget_bits = bits + SHAPES;
  const asked = { formats: TWELVE, budget_bits, fused, refine: 6, refine_windows: 8 };
  return [
    { name, set: "mixes", asked: { mix: { ...CALIBRATION, ...asked } } },
    { name: `${name} anew`, set: "mixes", asked: { anew: name } },
  ];
}

/** auto-round's knobs by default in `plugins/quantization/autoround.ts`. */
const TUNED = { iters: 8, samples: 8, lr: 0.005, seqlen: 256 };
const LIBRARY: Readonly<Record<string, Params>> = {
  ...{ rtn: KNOBS.rtn!, int8: {}, autoround: TUNED },
  gptq: { samples: 16, dampening: 0.01, actorder: "static", clip: true },
};

function bare(method: string, bits: number): Cell {
  const grid = method === "int8"
    ? { activation_group_size: 64 }
    : { bits, group_size: GROUP, symmetric: true };
  const params = { ...grid, ...LIBRARY[method] };
  const name = method === "int8" ? "int8" : `${method} ${bits}`;
  return { name: `${name}, library alone`, set: "bare", asked: { bare: { method, params } } };
}

function autoscheme(average_bits: number): Cell {
  const params = { ...TUNED, average_bits, group_size: GROUP, symmetric: true };
  const asked = { bare: { method: "autoscheme", params: { ...params, widths: [2, 3, 4, 8] } } };
  return { name: `autoscheme ${average_bits}`, set: "mixes", asked };
}

/** The same by the method here. */
function byAutoScheme(average_bits: number): Cell {
  const by = { scored_by: "auto_scheme", rounded_by: "autoround" };
  const params = { average_bits, layer_bits: "2-3-4-8", group_size: GROUP, ...by };
  return { ...alone(`mixed ${average_bits} auto_scheme`, act("mixed", params)), set: "mixes" };
}

/** Between 3 and 4 bits the best uniform grid that is within the budget. */
const BETWEEN = ["gptq", "autoround"].map((name): Cell => ({
  ...method(name, 3, 32),
  set: "mixes",
}));

export const CELLS: readonly Cell[] = [
  ...METHODS,
  {
    name: "kept layers",
    set: "kept",
    asked: {
      kept: { ...CALIBRATION, formats: TWELVE, bits: 3.75, threads: navigator.hardwareConcurrency },
    },
  },
  ...BUDGETS.flatMap((bits) => mix(bits, true)),
  ...BETWEEN,
  ...BUDGETS.flatMap((bits) => mix(bits, false)),
  ...BUDGETS.flatMap((bits) => [autoscheme(bits), byAutoScheme(bits)]),
  ...["gptq", "autoround", "rtn"].flatMap((name) => FIRST.map((bits) => bare(name, bits))),
  bare("int8", 8),
];

/** Knobs for a model of two blocks and eight windows of 64 tokens. */
const FEW = { samples: 4 };
const SMALL: Readonly<Record<string, Params>> = {
  ...{ gptq: FEW, awq: FEW, autoround: { ...FEW, seqlen: 64 }, autoscheme: { ...FEW, seqlen: 64 } },
  ...{ mixed: { ...FEW, seqlen: 64 }, eora: { ...FEW, rank: 4 }, qat: { tokens: 64 } },
};
const SHORT = { windows: 4, tokens: 64 };

function small({ asked, ...cell }: Cell): Cell {
  const less = <T extends { readonly method: string; readonly params: object }>(one: T): T => ({
    ...one,
    params: { ...one.params, ...SMALL[one.method] },
  });
  if ("actions" in asked) return { ...cell, asked: { actions: asked.actions.map(less) } };
  if ("bare" in asked) return { ...cell, asked: { bare: less(asked.bare) } };
  if ("kept" in asked) return { ...cell, asked: { kept: { ...asked.kept, ...SHORT } } };
  if ("mix" in asked) {
    return { ...cell, asked: { mix: { ...asked.mix, ...SHORT, refine_windows: 4 } } };
  }
  return { ...cell, asked };
}

const TRIED = [
  ...["original", "gptq 4", "autoround 4", "mixed 3.25", "rtn 3 + eora", "nf4", "qat 3", "int8"],
  ...["kept layers", "mix 3.25", "mix 3.25 anew", "autoscheme 3.25", "gptq 4, library alone"],
  "mixed 3.25 auto_scheme",
  ...["autoround 4, library alone", "int8, library alone"],
];

/** Cells of each kind on the tiny model: the benchmark tried. */
export const QUICK: readonly Cell[] = CELLS.filter(({ name }) => TRIED.includes(name)).map(small);
