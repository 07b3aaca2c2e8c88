/** What every method shares that makes single weights of the linear layers zero. */
import {
  type Change,
  choice,
  type Facts,
  type Finding,
  type ModelFacts,
  real,
  type Support,
  withWeightBytes,
} from "../../core/mod.ts";
import { GRANULARITY } from "./_granularity.ts";
import { bitmaskBytes, type BitmaskForm } from "../forms/bitmask.ts";

const PATTERNS = ["unstructured", "2:4", "4:8"] as const;
/** Weights that lie side by side, by the pattern's name; half of them become zero. */
const WIDTHS = { "2:4": 4, "4:8": 8 } as const;
const PATTERN_SPARSITY = 0.5;
const LEAST = 0.1;
const MOST = 0.7;
/** What a further try adds or takes away. */
const STEP = 0.1;
const FLOAT_BYTES = 2;
/**
 * Cosine of weights with those that are left of them: 0.96 for Gaussian ones at 0.5, 0.88 at
 * 0.7; a layer with other weights has about 0.
 */
export const LEAST_COSINE = 0.3;
export const PROCESS_BYTES = 0.8e9;

/** No runtime here has kernels for zeros: whatever it holds, it multiplies all of it. */
const NO_FASTER = "zeros are multiplied like other weights in this runtime, so pruning single " +
  "weights makes the model no faster";

export const sparsityKnobs = {
  sparsity: real({
    minimum: LEAST,
    maximum: MOST,
    default: 0.5,
    unit: "share of the weights that is zero",
    description: "How many of the linear layers' weights become zero",
    aliases: ["sparsity_ratio"],
    only_where: { knob: "pattern", is: ["unstructured"] },
  }),
  pattern: choice(PATTERNS, {
    default: "unstructured",
    unit: "where zeros may lie",
    description: "Anywhere, or two of every four (four of every eight) along a row",
  }),
};

export const stored_as = choice(["bitmask", "dense"], {
  default: "bitmask",
  unit: "how weights are stored",
  description:
    "Without the zeros, which later actions keep and pare alone reads, or all in float16",
});

export interface SparsityParams {
  readonly sparsity: number;
  readonly pattern: (typeof PATTERNS)[number];
  readonly stored_as: "bitmask" | "dense";
}

/** Whether the pattern can be had: on every row, and at its own sparsity. `spread`: in words, a share that differs by layer. */
export function acceptsPattern(
  { sparsity, pattern }: Pick<SparsityParams, "sparsity" | "pattern">,
  model: ModelFacts,
  spread: string | null,
): Support {
  if (pattern === "unstructured") return { ok: true };
  if (sparsity !== PATTERN_SPARSITY || spread !== null) {
    const reason = `the pattern ${pattern} leaves a sparsity of ${PATTERN_SPARSITY} in every ` +
      `layer, not ${sparsity}${spread === null ? "" : ` ${spread}`}`;
    return { ok: false, reason };
  }
  const width = WIDTHS[pattern];
  const odd = model.linear_shapes.find(({ in_features }) => in_features % width !== 0);
  if (odd === undefined) return { ok: true };
  return {
    ok: false,
    reason: `the pattern ${pattern} does not divide the rows of ${odd.in_features} weights`,
  };
}

function nextSparsity<P extends SparsityParams>(params: P, finding: Finding): P | null {
  if (params.pattern !== "unstructured") {
    return finding === "lost" ? { ...params, pattern: "unstructured" } : null;
  }
  const step = finding === "lost" ? -STEP : STEP;
  const sparsity = Math.round(100 * (params.sparsity + step)) / 100;
  return sparsity < LEAST || sparsity > MOST ? null : { ...params, sparsity };
}

/** How a share and a pattern are called in tables. */
export function sparsityLabel({ sparsity, pattern }: SparsityParams): string {
  return pattern === "unstructured" ? `${Math.round(100 * sparsity)}% zero` : pattern;
}

/** All of a method that its knobs, label, seed and costs do not say. */
export const unstructuredPruner = {
  knobs_named_for: GRANULARITY,
  leaves({ sparsity, stored_as }: SparsityParams, { model }: Facts) {
    const form: BitmaskForm | null = stored_as === "dense" ? null : { form: "bitmask", sparsity };
    const change: Change = {
      ...{ part: "linear", effect: "prunes", form, least_cosine: LEAST_COSINE },
      no_faster: NO_FASTER,
    };
    const linear = form === null
      ? FLOAT_BYTES * model.linear_parameters
      : bitmaskBytes(form, model.linear_shapes);
    return { changes: [change], model: withWeightBytes(model, { linear }) };
  },
  order: {
    effect: "prunes" as const,
    // Pruning in steps: zeros stay, and a later step's share counts them.
    follows: ["trains", "prunes", "resizes"] as const,
    precedes: ["trains", "prunes", "rounds"] as const,
    reason: "it makes float weights zero",
  },
  hint: (about: "quality" | "memory") =>
    about === "quality" ? "Leave more weights, or train after it" : null,
  supports({ model }: Facts): Support {
    if (model.unpackable !== null && model.unpackable !== undefined) {
      return { ok: false, reason: model.unpackable };
    }
    if (model.linear_shapes.length > 0) return { ok: true };
    return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
  },
  next: nextSparsity,
};
