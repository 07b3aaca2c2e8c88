import { defineMethod } from "../../core/mod.ts";
import {
  calibratedKnobs,
  calibratedMemory,
  calibratedPruner,
  calibratedSeconds,
  needsCalibration,
} from "./_calibrated.ts";

const PRICES = { weight: 2e-8, weight_and_token: 5e-11 };

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
