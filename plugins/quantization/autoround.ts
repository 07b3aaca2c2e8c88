import { defineMethod, integer, real } from "../../core/mod.ts";
import { modelMemory, packsLinearLayers, seedGrid, seedGroupSize, SMALL_MODEL } from "./_groups.ts";
import {
  calibrationWindows,
  GPU_SPEED,
  gridKnobs,
  linearQuantizer,
  tunesEveryLayer,
} from "./_linear.ts";

/**
 * Fitted to 49 s for SmolLM2-135M (8 steps, 8 windows of 256 tokens, two cores): a fixed cost for
 * each block, then forward and backward for each weight and token.
 */
const SECONDS_A_BLOCK = 0.5;
const SECONDS_A_WEIGHT_AND_TOKEN = 8e-12;
const START_SECONDS = 8;
const BATCH = 4;

const BLOCKS_ALONE =
  "auto-round tunes layers inside blocks, by their block's output: for embedding " +
  "and output head put gptq, awq or rtn with targets: embedding behind it";

/** AutoRound by auto-round. */
export default defineMethod({
  ...linearQuantizer,
  name: "autoround",
  summary: "Learns how each weight is rounded and each group is clipped, block by block",
  named_for: {
    auto_round: "autoround is its name here",
    autoscheme: "mixed with scored_by: auto_scheme and rounded_by: autoround is that here; its " +
      "average_bits counts the scales",
  },
  knobs_named_for: {
    ...linearQuantizer.knobs_named_for,
    targets: BLOCKS_ALONE,
    quant_lm_head: BLOCKS_ALONE,
  },
  knobs: {
    ...gridKnobs,
    iters: integer({
      minimum: 1,
      maximum: 1000,
      default: 8,
      log: true,
      unit: "steps a block",
      description: "Steps of signed gradient descent for each block; the paper takes 200",
    }),
    samples: calibrationWindows(8),
    // auto-round's own default, 1/iters, is for hundreds of steps: with 8 it is a random walk over
    // half the grid (perplexity 56 where 0.005 gives 35, SmolLM2-135M at 4 bits).
    lr: real({
      minimum: 0.0005,
      maximum: 0.2,
      default: 0.005,
      log: true,
      unit: "step of rounding and clipping",
      description: "How far a step of the signed gradient goes, falling linearly to 0",
    }),
    seqlen: integer({
      minimum: 16,
      maximum: 4096,
      default: 256,
      log: true,
      unit: "tokens of a window",
      description: "Tokens used of each window, at most as many as it has",
      takes: "tokens",
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  supports(facts) {
    const packs = packsLinearLayers(facts);
    return packs.ok ? tunesEveryLayer(facts) : packs;
  },
  seed(boldness, facts) {
    if (boldness !== "aggressive") return null;
    if (facts.model.parameters < SMALL_MODEL) return { bits: 4, ...seedGrid(facts) };
    return { bits: 3, group_size: seedGroupSize(facts) };
  },
  estimateSeconds({ iters, samples, seqlen }, { model, device }) {
    const tokens = seqlen *
      (3 * iters * Math.min(BATCH, samples) + 3 * samples);
    const work = model.linear_parameters * tokens * SECONDS_A_WEIGHT_AND_TOKEN;
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    return START_SECONDS + model.layers * SECONDS_A_BLOCK + work / speed;
  },
  // The model, and a block with its gradients and the inputs and outputs of every window.
  estimateMemory: ({ samples, seqlen }, facts) =>
    modelMemory(facts, 2) + 8 * samples * seqlen * facts.model.hidden_size,
});
