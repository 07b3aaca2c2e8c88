import {
  type Change,
  choice,
  type Facts,
  type Finding,
  flag,
  type HintAbout,
  type Leaves,
  type LinearShape,
  type Order,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { gridBytes, type GridForm } from "../forms/grid.ts";

/** Knobs of a grid, as every method that may choose them spells them. */
export interface GridParams {
  readonly bits: 2 | 3 | 4 | 8;
  readonly group_size: (typeof GROUP_SIZES)[number];
  readonly symmetric: boolean;
}

/** Groups that runtimes have fast kernels for; larger ones cost fewer bits, smaller ones less error. */
const LARGEST_AUTO_GROUP = 128;
/** torch, transformers and their buffers before a weight is read. */
const PROCESS_BYTES = 0.8e9;

/** Sizes that a group may have; -1 = the whole row. */
export const GROUP_SIZES = [-1, 16, 32, 48, 64, 96, 128, 192, 256] as const;
/** Bits that an integer may have. */
const WIDTHS = [2, 3, 4, 8] as const;

/** Weights that share a scale: the same knob in every method that groups. */
export const groupSize = choice(GROUP_SIZES, {
  default: 64,
  unit: "weights a scale, -1 = whole row",
  description: "Consecutive weights of a row that share a scale; must divide the row",
  aliases: ["groupsize", "q_group_size"],
});

/** Whether the grid is centred on zero: the same knob in every method that may choose. */
export const symmetricGrid = flag({
  default: true,
  description: "Grid centred on zero; off: a zero point for each group, stored in as many bits",
  aliases: ["sym"],
});

/** Bits of a weight: the same knob in every method that may choose. */
export const weightBits = choice(WIDTHS, {
  default: 4,
  unit: "bits per weight",
  description: "Bits of the integer that stands for a weight",
  aliases: ["bit_width", "num_bits", "nbits"],
});

const GRANULARITY = "per channel is group_size: -1, per group any other; one scale for the whole " +
  "matrix (per tensor) is smoothquant with weight_scale: per_tensor, at 8 bits";

/** Other documents' names of how many weights share a scale. */
export const gridKnobsNamedFor = {
  granularity: GRANULARITY,
  per_channel: GRANULARITY,
  per_tensor: GRANULARITY,
};

/** Every method here takes float weights and leaves integers. */
export const roundsOnce: Order = {
  effect: "rounds",
  follows: ["trains", "prunes", "resizes"],
  precedes: ["encodes"],
  reason: "it rounds float weights, once",
};

/** One step of bits: more where quality was lost, fewer where it was kept; null at the end. */
export function nextBits<P extends GridParams>(
  params: P,
  finding: Finding,
  facts: Facts,
): P | null {
  const further = finding === "lost"
    ? WIDTHS.filter((bits) => bits > params.bits)
    : WIDTHS.filter((bits) => bits < params.bits).reverse();
  const bits = further.find((width) => leavesGrid({ ...params, bits: width }, facts).ok);
  return bits === undefined ? null : { ...params, bits };
}

/** The largest group up to `limit` that divides every row; the whole row where none does. */
export function largestGroup(
  { model }: Facts,
  limit: number,
): { value: GridParams["group_size"]; reason: string } {
  const fits = GROUP_SIZES.filter((size) => size <= limit && model.group_sizes.includes(size));
  const value = fits.at(-1) ?? -1;
  if (value === -1) return { value, reason: `no group size up to ${limit} divides every row` };
  return { value, reason: `the largest up to ${limit} that divides every row` };
}

/** What "auto" takes for groups of weights. */
export function autoGroupSize(facts: Facts): ReturnType<typeof largestGroup> {
  return largestGroup(facts, LARGEST_AUTO_GROUP);
}

/** The default group where it divides every row, else the one that "auto" would take. */
export function seedGroupSize(facts: Facts): GridParams["group_size"] {
  const usual = groupSize.default;
  return facts.model.group_sizes.includes(usual) ? usual : autoGroupSize(facts).value;
}

/** Below this many parameters 3 bits, or coarse grids of 4, cost more than a first try may. */
export const SMALL_MODEL = 1e9;

/**
 * The 4-bit grid to begin with. Of a small model each weight carries more: on SmolLM2-135M groups of 32
 * with an offset keep the answers (0.593 for 0.603) that groups of 64 and symmetric ones of 32 lose (0.560).
 */
export function seedGrid(facts: Facts): Pick<GridParams, "group_size" | "symmetric"> {
  const small = facts.model.parameters < SMALL_MODEL && facts.model.group_sizes.includes(32);
  return small
    ? { group_size: 32, symmetric: false }
    : { group_size: seedGroupSize(facts), symmetric: true };
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
  const fits = GROUP_SIZES.findLast((size) => size > 0 && rows.every((row) => row % size === 0));
  const instead = fits === undefined ? "" : `; ${fits} divides all`;
  return {
    ok: false,
    reason: `a group size of ${group} does not divide the rows of ${odd} weights${instead}`,
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
function leavesGrid(params: GridParams, { model: { grid } }: Facts): Support {
  if (grid === null || grid.fraction < 0.5) return { ok: true };
  const group = params.group_size;
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
export function acceptsLinear(params: GridParams, facts: Facts): Support {
  const packs = packsLinearLayers(facts);
  if (!packs.ok) return packs;
  const divides = dividesRows(params.group_size, linearRows(facts));
  return divides.ok ? leavesGrid(params, facts) : divides;
}

/** How weights rounded with these knobs are stored; their inputs stay floats. */
export function gridForm({ bits, group_size, symmetric }: GridParams): GridForm {
  return { form: "grid", bits, group_size, symmetric, activation_group_size: null };
}

/**
 * Least cosine of weights on a grid of so many bits with their floats: a swapped or transposed layer
 * has about 0, while rounding a row with a far outlier to 4 bits leaves 0.8, to 2 bits 0.2.
 */
function leastCosine({ bits }: GridForm): number {
  return bits < 7 ? 0.1 : 0.6;
}

/** The parts of a model that can be rounded. */
export type RoundedPart = "linear" | "embedding";

/** The matrices of a part. */
export function shapesOf(part: RoundedPart, { model }: Facts): readonly LinearShape[] {
  if (part === "linear") return model.linear_shapes;
  const in_features = model.hidden_size;
  return [{ out_features: model.embedding_parameters / in_features, in_features, count: 1 }];
}

/** What rounding these parts to this form leaves. */
export function leavesRounded(
  parts: readonly RoundedPart[],
  form: GridForm,
  facts: Facts,
): Leaves {
  const changes = parts.map((part): Change => ({
    part,
    effect: "rounds",
    form,
    least_cosine: leastCosine(form),
  }));
  const bytes = { ...weightBytes(facts.model) };
  for (const part of parts) bytes[part] = gridBytes(form, shapesOf(part, facts));
  return { changes, model: withWeightBytes(facts.model, bytes) };
}

/** What a method that rounds the linear layers leaves. */
export function leavesLinear(params: GridParams, facts: Facts): Leaves {
  return leavesRounded(["linear"], gridForm(params), facts);
}

/** The words that tell one grid from another. */
export function gridLabel({ bits, group_size, symmetric }: GridParams): string[] {
  return [
    `${bits}-bit`,
    ...(group_size > 0 ? [`g${group_size}`] : []),
    ...(symmetric ? [] : ["asym"]),
  ];
}

/** What to do where a grid was too coarse, or not coarse enough. */
export function gridHint(about: HintAbout): string {
  return about === "quality" ? "Take more bits or smaller groups" : "Take fewer bits";
}

/** Bytes for the float32 model and `copies` of it in part. */
export function modelMemory({ model }: Facts, copies: number): number {
  return PROCESS_BYTES + 4 * model.parameters * copies;
}
