import { defineMethod, integer } from "../../core/mod.ts";
import {
  autoGroupSize,
  gridHint,
  gridKnobsNamedFor,
  type GridParams,
  groupSize,
  hasLinearLayers,
  modelMemory,
  nextBits,
  roundsOnce,
  seedGroupSize,
  weightBits,
} from "./_groups.ts";
import { targetedGrid, targetedWeights, type Targets, targetsKnob } from "./_targets.ts";

/** Weights a second and step on one core: 20 million of SmolLM2-135M's, halved. */
const WEIGHTS_A_SECOND = 10e6;
const START_SECONDS = 2;

type HqqParams = Pick<GridParams, "bits" | "group_size"> & { readonly targets: Targets };

const asymmetric = ({ bits, group_size, targets }: HqqParams) => ({
  ...{ bits, group_size, targets },
  symmetric: false,
});

/** Half-quadratic quantization, data-free, onto a grid with zero points. */
export default defineMethod({
  name: "hqq",
  summary: "Fits each group's scale and zero point to its weights, a few outliers left out",
  knobs_named_for: gridKnobsNamedFor,
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
    targets: targetsKnob,
  },
  needs: { environment: "default", gpu: false },
  leaves: (params, facts) => targetedGrid.leaves(asymmetric(params), facts),
  order: roundsOnce,
  label: (params) => targetedGrid.label(asymmetric(params)),
  hint: gridHint,
  supports: hasLinearLayers,
  accepts: (params, facts) => targetedGrid.accepts(asymmetric(params), facts),
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed: (boldness, facts) =>
    boldness === "balanced" ? { bits: 4, group_size: seedGroupSize(facts) } : null,
  next(params, finding, facts) {
    const next = nextBits({ ...params, symmetric: false }, finding, facts);
    return next === null ? null : { ...params, bits: next.bits };
  },
  estimateSeconds: ({ iters, targets }, facts) =>
    START_SECONDS + targetedWeights(targets, facts) * (iters + 1) / WEIGHTS_A_SECOND,
  // The matrix in work, and what is done: a byte a weight; the rest stays on disk.
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
