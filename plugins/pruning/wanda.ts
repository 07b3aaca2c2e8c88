import { defineMethod } from "../../core/mod.ts";
import {
  calibratedKnobs,
  calibratedMemory,
  calibratedPruner,
  calibratedSeconds,
  needsCalibration,
} from "./_calibrated.ts";

/**
 * By 14 CPU seconds for SmolLM2-135M (8 windows of 128 tokens, one core): two forward passes of each
 * block, and the scores of each weight.
 */
const PRICES = { weight: 3e-8, weight_and_token: 1e-10 };

/** Wanda by llm-compressor's arithmetic. */
export default defineMethod({
  ...calibratedPruner,
  name: "wanda",
  summary: "Makes weights zero that are small beside the inputs they meet, row by row",
  knobs: calibratedKnobs,
  needs: needsCalibration,
  seed(boldness) {
    if (boldness === "conservative") return { sparsity: 0.2 };
    return { sparsity: boldness === "balanced" ? 0.3 : 0.5 };
  },
  estimateSeconds: (params, facts) => calibratedSeconds(params, facts, PRICES),
  estimateMemory: (params, facts) => calibratedMemory(params, facts, false),
});
