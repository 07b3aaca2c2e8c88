import { defineMethod, type Facts, integer } from "../../core/mod.ts";
import {
  acceptsLinear,
  autoGroupSize,
  dividesRows,
  gridForm,
  gridHint,
  gridLabel,
  type GridParams,
  groupSize,
  hasLinearLayers,
  leavesRounded,
  modelMemory,
  nextBits,
  roundsOnce,
  seedGroupSize,
  weightBits,
} from "./_groups.ts";
import { partsOf, tableTargets, type Targets } from "./_table.ts";

/** Weights a second and step on one core: 20 million of SmolLM2-135M's, halved. */
const WEIGHTS_A_SECOND = 10e6;
const START_SECONDS = 2;

type HqqParams = Pick<GridParams, "bits" | "group_size"> & { readonly targets: Targets };

const asymmetric = ({ bits, group_size }: HqqParams): GridParams => ({
  ...{ bits, group_size },
  symmetric: false,
});

function changedWeights(targets: Targets, { model }: Facts): number {
  return (targets === "embedding" ? 0 : model.linear_parameters) +
    (targets === "linear" ? 0 : model.embedding_parameters);
}

/** Half-quadratic quantization, data-free, onto a grid with zero points. */
export default defineMethod({
  name: "hqq",
  summary: "Fits each group's scale and zero point to its weights, a few outliers left out",
  knobs: {
    bits: weightBits,
    group_size: groupSize,
    iters: integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      log: true,
      unit: "steps",
      description: "Steps of the half-quadratic solver; the best of them is kept",
    }),
    targets: tableTargets,
  },
  needs: { environment: "default", gpu: false },
  leaves: (params, facts) =>
    leavesRounded(partsOf(params.targets), gridForm(asymmetric(params)), facts),
  order: roundsOnce,
  label: (params) => [
    ...(params.targets === "linear" ? [] : [params.targets]),
    ...gridLabel(asymmetric(params)),
  ],
  hint: gridHint,
  supports: hasLinearLayers,
  accepts(params, facts) {
    if (params.targets !== "linear") {
      const divides = dividesRows(params.group_size, [facts.model.hidden_size]);
      if (!divides.ok) return divides;
    }
    return params.targets === "embedding" ? { ok: true } : acceptsLinear(asymmetric(params), facts);
  },
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed: (boldness, facts) =>
    boldness === "balanced" ? { bits: 4, group_size: seedGroupSize(facts) } : null,
  next(params, finding, facts) {
    const next = nextBits({ ...params, symmetric: false }, finding, facts);
    return next === null ? null : { ...params, bits: next.bits };
  },
  estimateSeconds: ({ iters, targets }, facts) =>
    START_SECONDS + changedWeights(targets, facts) * (iters + 1) / WEIGHTS_A_SECOND,
  // The matrix in work, and what is done: a byte a weight; the rest stays on disk.
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
