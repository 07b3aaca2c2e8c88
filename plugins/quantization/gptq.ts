import { choice, defineMethod, flag, real } from "../../core/mod.ts";
import { modelMemory, seedGrid, seedGroupSize } from "./_groups.ts";
import { calibrationWindows, GPU_SPEED, gridKnobs, linearQuantizer } from "./_linear.ts";
import { targetedGrid, targetedWeights, targetsKnob } from "./_targets.ts";

/**
 * Fitted to 30 s for SmolLM2-135M (8 windows of 256 tokens, two cores): factors and columns for each
 * weight, then the forward passes of each window.
 */
const SECONDS_A_WEIGHT = 1.3e-7;
const SECONDS_A_WEIGHT_AND_WINDOW = 1e-8;
const START_SECONDS = 8;

/** GPTQ by llm-compressor; an output head by the same loop of our own. */
export default defineMethod({
  ...linearQuantizer,
  ...targetedGrid,
  name: "gptq",
  summary: "Rounds column by column and lets later columns make up for the error",
  named_for: {
    gptqmodel:
      "gptq is llm-compressor's here; GPTQModel is not installed, as it refuses machines " +
      "of two cores (its thread pool wants two workers of one) and asks for another NumPy",
    auto_gptq: "it is no longer maintained; take gptq, and pare convert for its file format",
    llm_compressor: "it stands behind gptq",
  },
  knobs: {
    ...gridKnobs,
    dampening: real({
      minimum: 0.001,
      maximum: 0.2,
      default: 0.01,
      log: true,
      unit: "share of the Hessian's mean diagonal",
      description: "What is added to the Hessian's diagonal before it is inverted",
      aliases: ["damp_percent", "dampening_frac"],
    }),
    actorder: choice(["static", "none"], {
      default: "static",
      unit: "order of columns",
      description: "Columns with the largest inputs first, or as they stand",
    }),
    samples: calibrationWindows(16),
    // On few windows GPTQ moves errors into columns that they hardly saw, and ranges from the
    // smallest to the largest weight leave them no room: perplexity of SmolLM2-135M at 4 bits in
    // groups of 64, 16 windows of 256 tokens, on the shipped text 40.8 and 38.0 with the clip, on
    // WikiText-2 70.1 and 55.2; rounding to nearest alone 47.3 and 64.2, with the clip 42.2 and 65.5.
    clip: flag({
      default: true,
      description: "Shrink each group's range to what makes its error least",
    }),
    targets: targetsKnob,
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  seed(boldness, facts) {
    if (boldness === "conservative") return null;
    if (boldness === "balanced") return { bits: 4, ...seedGrid(facts) };
    return { bits: 3, group_size: seedGroupSize(facts) };
  },
  estimateSeconds({ samples, targets }, facts) {
    const a_weight = SECONDS_A_WEIGHT + samples * SECONDS_A_WEIGHT_AND_WINDOW;
    const speed = facts.device.device === "cuda" ? GPU_SPEED : 1;
    return START_SECONDS + targetedWeights(targets, facts) * a_weight / speed;
  },
  // The model, one block's Hessians and inverses, the cached inputs of a block.
  estimateMemory: (_params, facts) => modelMemory(facts, 2),
});
