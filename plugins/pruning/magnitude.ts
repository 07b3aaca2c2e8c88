import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  type Finding,
  real,
  type Support,
  withWeightBytes,
} from "../../core/mod.ts";
import { bitmaskBytes, type BitmaskForm } from "../forms/bitmask.ts";

const PATTERNS = ["unstructured", "2:4", "4:8"] as const;
/** Weights that lie side by side, by the pattern's name; half of them become zero. */
const WIDTHS = { "2:4": 4, "4:8": 8 } as const;
const PATTERN_SPARSITY = 0.5;
const LEAST = 0.1;
const MOST = 0.7;
/** What a further try adds or takes away. */
const STEP = 0.1;
/**
 * Cosine of weights with those that are left of them: 0.96 for Gaussian ones at 0.5, 0.88 at
 * 0.7; a layer with other weights has about 0.
 */
const LEAST_COSINE = 0.3;
/** Weights a second on one core: three passes of counting and one of packing, halved. */
const WEIGHTS_A_SECOND = 10e6;
const START_SECONDS = 4;
const PROCESS_BYTES = 0.8e9;

interface Params {
  readonly sparsity: number;
  readonly pattern: (typeof PATTERNS)[number];
  readonly scope: "layer" | "global";
}

function accepts({ sparsity, pattern, scope }: Params, { model }: Facts): Support {
  if (pattern === "unstructured") return { ok: true };
  if (sparsity !== PATTERN_SPARSITY || scope !== "layer") {
    const reason = `the pattern ${pattern} leaves a sparsity of ${PATTERN_SPARSITY} in every ` +
      `layer, not ${sparsity} with the scope ${scope}`;
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

function supports({ model }: Facts): Support {
  if (model.unpackable !== null && model.unpackable !== undefined) {
    return { ok: false, reason: model.unpackable };
  }
  if (model.linear_shapes.length > 0) return { ok: true };
  return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
}

function leaves({ sparsity }: Params, { model }: Facts) {
  const form: BitmaskForm = { form: "bitmask", sparsity };
  const change: Change = { part: "linear", effect: "prunes", form, least_cosine: LEAST_COSINE };
  const linear = bitmaskBytes(form, model.linear_shapes);
  return { changes: [change], model: withWeightBytes(model, { linear }) };
}

/** A tenth fewer or more zeros; a pattern gives way to free places, which cost less quality. */
function next(params: Params, finding: Finding): Params | null {
  if (params.pattern !== "unstructured") {
    return finding === "lost" ? { ...params, pattern: "unstructured" } : null;
  }
  const step = finding === "lost" ? -STEP : STEP;
  const sparsity = Math.round(100 * (params.sparsity + step)) / 100;
  return sparsity < LEAST || sparsity > MOST ? null : { ...params, sparsity };
}

/** Magnitude pruning: no calibration data, one pass over the weights. */
export default defineMethod({
  name: "magnitude",
  summary: "Makes the weights that are nearest to zero zero, and stores only the others",
  knobs: {
    sparsity: real({
      minimum: LEAST,
      maximum: MOST,
      default: 0.5,
      unit: "share of the weights that is zero",
      description: "How many of the linear layers' weights become zero",
    }),
    pattern: choice(PATTERNS, {
      default: "unstructured",
      unit: "where zeros may lie",
      description: "Anywhere, or two of every four (four of every eight) along a row",
    }),
    scope: choice(["layer", "global"], {
      default: "layer",
      unit: "what the share is of",
      description: "The share of every layer, or of all together by one threshold",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves,
  order: {
    effect: "prunes",
    follows: ["trains", "resizes"],
    precedes: ["trains", "rounds", "encodes"],
    reason: "it makes float weights zero, once",
  },
  label: ({ sparsity, pattern, scope }) => [
    pattern === "unstructured" ? `${Math.round(100 * sparsity)}% zero` : pattern,
    ...(scope === "layer" ? [] : [scope]),
  ],
  hint: (about) => about === "quality" ? "Leave more weights, or train after it" : null,
  supports,
  accepts,
  seed(boldness) {
    if (boldness === "conservative") return { sparsity: 0.2 };
    return { sparsity: boldness === "balanced" ? 0.3 : 0.5 };
  },
  next,
  estimateSeconds: (_params, { model }) =>
    START_SECONDS + model.linear_parameters / WEIGHTS_A_SECOND,
  // The checkpoint stays on disk; the values that are left, in float16, and one matrix at a time.
  estimateMemory: (_params, { model }) => PROCESS_BYTES + 4 * model.linear_parameters,
});
