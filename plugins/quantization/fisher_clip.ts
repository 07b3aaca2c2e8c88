import { defineMethod, integer } from "../../core/mod.ts";
import { modelMemory, seedGroupSize } from "./_groups.ts";
import { calibrationWindows, GPU_SPEED, gridKnobs, linearQuantizer } from "./_linear.ts";
import { targetedGrid, targetsKnob } from "./_targets.ts";

/** A range tried for one weight, in place; a window's passes, forward and backward. */
const SECONDS_A_WEIGHT_AND_STEP = 1e-8;
const SECONDS_A_WEIGHT_AND_WINDOW = 3e-8;
const START_SECONDS = 8;

/** Gradient-aware clipping. */
export default defineMethod({
  ...linearQuantizer,
  ...targetedGrid,
  name: "fisher_clip",
  summary: "Shrinks each group's range to where gradients say that the loss rises least",
  named_for: {
    gradient_aware_clipping: "fisher_clip weighs a group's errors by squared gradients",
  },
  knobs: {
    ...gridKnobs,
    samples: calibrationWindows(16),
    search_steps: integer({
      minimum: 2,
      maximum: 100,
      default: 21,
      unit: "ranges tried",
      description: "Shares of a group's range that are tried, from all of it to a half",
    }),
    targets: targetsKnob,
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  seed(boldness, facts) {
    if (boldness === "conservative") return null;
    const bits = boldness === "aggressive" ? 3 : 4;
    return { bits, group_size: seedGroupSize(facts) };
  },
  estimateSeconds({ samples, search_steps }, { model, device }) {
    const passes = samples * SECONDS_A_WEIGHT_AND_WINDOW;
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    const a_weight = passes / speed + search_steps * SECONDS_A_WEIGHT_AND_STEP;
    return START_SECONDS + (model.linear_parameters + model.embedding_parameters) * a_weight;
  },
  // The model, its squared gradients, what a backward pass keeps, and what is rounded.
  estimateMemory: (_params, facts) => modelMemory(facts, 4),
});
