import {
  choice,
  type Facts,
  type Finding,
  flag,
  type Order,
  type ResolvedAction,
  type Support,
  type WeightFormat,
} from "../../core/mod.ts";

type Params = ResolvedAction["params"];

const SCALE_BITS = 16;
/** Groups that runtimes have fast kernels for; larger ones cost fewer bits, smaller ones less error. */
const LARGEST_AUTO_GROUP = 128;
/** torch, transformers and their buffers before a weight is read. */
const PROCESS_BYTES = 0.8e9;

/** Sizes that a group may have; -1 = the whole row. */
export const GROUP_SIZES = [-1, 16, 32, 48, 64, 96, 128, 192, 256] as const;

/** Weights that share a scale: the same knob in every method that groups. */
export const groupSize = choice(GROUP_SIZES, {
  default: 64,
  unit: "weights a scale, -1 = whole row",
  description: "Consecutive weights of a row that share a scale; must divide the row",
});

/** Whether the grid is centred on zero: the same knob in every method that may choose. */
export const symmetricGrid = flag({
  default: true,
  description: "Grid centred on zero; off: a zero point for each group, stored in as many bits",
});

/** Bits of a weight: the same knob in every method that may choose. */
export const weightBits = choice([2, 3, 4, 8], {
  default: 4,
  unit: "bits a weight",
  description: "Bits of the integer that stands for a weight",
});

/** Every method here takes float weights and leaves integers. */
export const roundsOnce: Order = {
  effect: "rounds",
  follows: ["trains", "prunes"],
  precedes: ["encodes"],
  reason: "it rounds float weights, once",
};

/** One step of bits: more where quality was lost, fewer where it was kept; null at the end. */
export function nextBits(params: Params, finding: Finding, facts: Facts): Params | null {
  const widths = (weightBits.choices ?? []).map(Number);
  const further = finding === "lost"
    ? widths.filter((bits) => bits > Number(params.bits))
    : widths.filter((bits) => bits < Number(params.bits)).reverse();
  const bits = further.find((width) => leavesGrid({ ...params, bits: width }, facts).ok);
  return bits === undefined ? null : { ...params, bits };
}

/** The largest group up to `limit` that divides every row; the whole row where none does. */
export function largestGroup(
  { model }: Facts,
  limit: number,
): { value: number; reason: string } {
  const value = Math.max(-1, ...model.group_sizes.filter((size) => size <= limit));
  if (value === -1) return { value, reason: `no group size up to ${limit} divides every row` };
  return { value, reason: `the largest up to ${limit} that divides every row` };
}

/** What "auto" takes for groups of weights. */
export function autoGroupSize(facts: Facts): { value: number; reason: string } {
  return largestGroup(facts, LARGEST_AUTO_GROUP);
}

/** The default group where it divides every row, else the one that "auto" would take. */
export function seedGroupSize(facts: Facts): number {
  const usual = Number(groupSize.default);
  return facts.model.group_sizes.includes(usual) ? usual : autoGroupSize(facts).value;
}

/** Whether the model has layers to quantize; memory and GPU are checked by the core. */
export function hasLinearLayers({ model }: Facts): Support {
  if (model.linear_shapes.length > 0) return { ok: true };
  return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
}

/** Whether every weight matrix of the model is one that can be packed, and there is one. */
export function packsLinearLayers(facts: Facts): Support {
  const { unpackable } = facts.model;
  if (unpackable !== null && unpackable !== undefined) return { ok: false, reason: unpackable };
  return hasLinearLayers(facts);
}

/** Whether a group size divides every row that it would cut. */
export function dividesRows(group: number, rows: readonly number[]): Support {
  if (group === -1) return { ok: true };
  const odd = rows.find((row) => row % group !== 0);
  if (odd === undefined) return { ok: true };
  return {
    ok: false,
    reason: `a group size of ${group} does not divide the rows of ${odd} weights`,
  };
}

/** Lengths of the linear layers' rows. */
export function linearRows({ model }: Facts): number[] {
  return [...new Set(model.linear_shapes.map(({ in_features }) => in_features))];
}

/**
 * Whether the linear weights do not lie on this very grid already. If they do, rounding to it gives
 * them back whatever the method does: exactly on a symmetric grid; on an asymmetric one nearly, as
 * compressed-tensors stores a zero point in whole steps and the grid's own offset is any number.
 */
export function leavesGrid(params: Params, { model: { grid } }: Facts): Support {
  if (grid === null || grid.fraction < 0.5) return { ok: true };
  const group = Number(params.group_size);
  const same = params.bits === grid.bits && params.symmetric === grid.symmetric && group > 0 &&
    grid.group_size % group === 0;
  if (!same) return { ok: true };
  const kind = grid.symmetric ? "a symmetric" : "an asymmetric";
  const back = grid.symmetric
    ? "gives them back, whatever the method does: its figures would say nothing about it"
    : "gives them back but for the zero points, which the file stores as whole steps: its " +
      "figures would be those of the file format, not of the method";
  return {
    ok: false,
    reason: `the model's weights already lie on ${kind} ${grid.bits}-bit grid in groups of ` +
      `${grid.group_size}; rounding to that grid ${back}`,
  };
}

/** Whether a method of the linear layers takes these bits and groups on this model. */
export function acceptsLinear(params: Params, facts: Facts): Support {
  const packs = packsLinearLayers(facts);
  if (!packs.ok) return packs;
  const divides = dividesRows(Number(params.group_size), linearRows(facts));
  return divides.ok ? leavesGrid(params, facts) : divides;
}

/** Mean bits of a linear weight, its share of scale and zero point included. */
export function linearBits(params: Params, facts: Facts): number {
  const { linear_shapes } = facts.model;
  const weights = sum(linear_shapes.map((s) => s.count * s.out_features * s.in_features));
  const rows = sum(linear_shapes.map((s) => s.count * s.out_features));
  const group = Number(params.group_size);
  const groups = group === -1 ? rows : weights / group;
  return Number(params.bits) + (groups / weights) * bitsOfGroup(params);
}

/** How weights rounded with these knobs are stored; their inputs stay floats. */
export function gridFormat(params: Params): Omit<WeightFormat, "part"> {
  return {
    bits: Number(params.bits),
    group_size: Number(params.group_size),
    symmetric: params.symmetric !== false,
    activation_group_size: null,
  };
}

/** Bits that a group costs beside its weights. */
export function bitsOfGroup(params: Params): number {
  return SCALE_BITS + (params.symmetric === false ? Number(params.bits) : 0);
}

/** Bytes for the float32 model and `copies` of it in part. */
export function modelMemory({ model }: Facts, copies: number): number {
  return PROCESS_BYTES + 4 * model.parameters * copies;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
