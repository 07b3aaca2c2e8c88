import { defineMethod, flag } from "../../core/mod.ts";
import {
  autoGroupSize,
  gridHint,
  gridKnobsNamedFor,
  groupSize,
  hasLinearLayers,
  modelMemory,
  nextBits,
  roundsOnce,
  seedGroupSize,
  symmetricGrid,
  weightBits,
} from "./_groups.ts";
import { targetedGrid, targetedWeights, targetsKnob } from "./_targets.ts";

/** Weights rounded a second on one core: 0.5 s for the 106 million of SmolLM2-135M, doubled. */
const WEIGHTS_A_SECOND = 100e6;
/** The search for a clip tries 20 more ranges, in place: 12 times the plain rounding. */
const CLIP_COST = 12;
const START_SECONDS = 2;

/** Round-to-nearest: no calibration data, one pass over the weights. */
export default defineMethod({
  name: "rtn",
  summary: "Rounds each group of weights to the nearest points of a uniform grid",
  knobs_named_for: gridKnobsNamedFor,
  knobs: {
    bits: weightBits,
    group_size: groupSize,
    symmetric: symmetricGrid,
    clip: flag({
      default: false,
      description:
        "Shrink each group's range to what makes its error, the sum of |error|^2.5, least",
    }),
    targets: targetsKnob,
  },
  needs: { environment: "default", gpu: false },
  ...targetedGrid,
  order: roundsOnce,
  hint: gridHint,
  supports: hasLinearLayers,
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed(boldness, facts) {
    const group_size = seedGroupSize(facts);
    if (boldness === "conservative") return { bits: 8, group_size };
    if (boldness === "balanced") return { bits: 4, group_size, clip: true };
    return { bits: 3, group_size, clip: true };
  },
  next: nextBits,
  estimateSeconds(params, facts) {
    const passes = params.clip ? CLIP_COST : 1;
    return START_SECONDS + targetedWeights(params.targets, facts) * passes / WEIGHTS_A_SECOND;
  },
  // The matrix in work, and what is done: a byte a weight; the rest stays on disk.
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
