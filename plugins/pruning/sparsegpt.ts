import { choice, defineMethod, real } from "../../core/mod.ts";
import {
  calibratedKnobs,
  calibratedMemory,
  calibratedPruner,
  calibratedSeconds,
  needsCalibration,
} from "./_calibrated.ts";

/** By 43 CPU seconds for the same model and windows as in wanda.ts: the columns of each weight more. */
const PRICES = { weight: 3e-7, weight_and_token: 1e-10 };

/** SparseGPT by llm-compressor's arithmetic. */
export default defineMethod({
  ...calibratedPruner,
  name: "sparsegpt",
  summary: "Makes weights zero column by column and lets later columns make up for the error",
  knobs: {
    ...calibratedKnobs,
    block_size: choice([32, 64, 128, 256, 512], {
      default: 128,
      unit: "columns",
      description: "Columns among which the weights that go are chosen together",
    }),
    dampening: real({
      minimum: 0.001,
      maximum: 0.2,
      default: 0.01,
      log: true,
      unit: "share of the Hessian's mean diagonal",
      description: "What is added to the Hessian's diagonal before it is inverted",
    }),
  },
  needs: needsCalibration,
  seed(boldness) {
    if (boldness === "conservative") return { sparsity: 0.3 };
    return boldness === "balanced" ? { sparsity: 0.5 } : { sparsity: 0.5, pattern: "2:4" };
  },
  estimateSeconds: (params, facts) => calibratedSeconds(params, facts, PRICES),
  estimateMemory: (params, facts) => calibratedMemory(params, facts, true),
});
