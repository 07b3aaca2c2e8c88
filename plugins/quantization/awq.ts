import { defineMethod, flag, integer } from "../../core/mod.ts";
import { gridForm, modelMemory, seedGrid, seedGroupSize } from "./_groups.ts";
import { calibrationWindows, GPU_SPEED, gridKnobs, linearQuantizer } from "./_linear.ts";
import { leavesScaledForm } from "./_inputs.ts";
import { partsOf, targetedGrid, targetedWeights, targetsKnob } from "./_targets.ts";

/** Roundings and products with the inputs' second moments a weight: once a step, eleven in the clip. */
const SECONDS_A_WEIGHT_AND_STEP = 5e-8;
const CLIP_STEPS = 12;
const SECONDS_A_WEIGHT_AND_WINDOW = 1e-8;
const START_SECONDS = 8;

/** AWQ, our own: llm-compressor's needs a GPU. */
export default defineMethod({
  ...linearQuantizer,
  ...targetedGrid,
  name: "awq",
  summary: "Makes weights that meet large inputs larger before it rounds, and folds that away",
  named_for: { auto_awq: "it is archived; awq searches the same scales here" },
  knobs: {
    ...gridKnobs,
    search_steps: integer({
      minimum: 2,
      maximum: 40,
      default: 10,
      unit: "exponents tried",
      description: "Exponents of the mean input tried as scales, from 0 to below 1",
      aliases: ["n_grid"],
    }),
    samples: calibrationWindows(16),
    clip: flag({
      default: true,
      description: "Shrink each group's range to what makes the layer's outputs err least",
    }),
    // Of the embedding with the output head the ranges alone: lookups would meet scales.
    targets: targetsKnob,
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves: (params, facts) =>
    params.targets === "embedding"
      ? targetedGrid.leaves(params, facts)
      : leavesScaledForm(gridForm(params), facts, partsOf(params.targets)),
  seed(boldness, facts) {
    if (boldness === "conservative") return null;
    if (boldness === "balanced") return { bits: 4, ...seedGrid(facts) };
    return { bits: 3, group_size: seedGroupSize(facts) };
  },
  estimateSeconds({ samples, search_steps, clip, targets }, facts) {
    const steps = search_steps + (clip ? CLIP_STEPS : 1);
    const a_weight = steps * SECONDS_A_WEIGHT_AND_STEP + samples * SECONDS_A_WEIGHT_AND_WINDOW;
    const speed = facts.device.device === "cuda" ? GPU_SPEED : 1;
    return START_SECONDS + targetedWeights(targets, facts) * a_weight / speed;
  },
  // The model, what is rounded of it, one block's second moments.
  estimateMemory: (_params, facts) => modelMemory(facts, 2),
});
