import { defineMethod, flag } from "../../core/mod.ts";
import { hasLinearLayers, linearBits, modelMemory, roundsOnce } from "./_groups.ts";

/** As in rtn.ts. */
const WEIGHTS_A_SECOND = 100e6;
const CLIP_COST = 12;
const START_SECONDS = 2;
const ROWS = { bits: 8, group_size: -1, symmetric: true };

/** 8-bit integers: weights once for each output channel, inputs per token as the model runs. */
export default defineMethod({
  name: "int8",
  summary: "Rounds weights to 8 bits for each output channel and their inputs per token",
  knobs: {
    clip: flag({
      default: false,
      description: "Shrink each channel's range to what makes its squared error least",
    }),
  },
  needs: { environment: "default", calibration: false, gpu: false },
  changes: () => ["linear"],
  order: roundsOnce,
  supports: hasLinearLayers,
  accepts: () => ({ ok: true }),
  seed: (boldness) => boldness === "conservative" ? {} : null,
  next: ({ clip }, finding) => finding === "lost" && clip !== true ? { clip: true } : null,
  bits: (_params, facts) => linearBits(ROWS, facts),
  estimateSeconds: (params, facts) =>
    START_SECONDS +
    facts.model.linear_parameters * (params.clip === true ? CLIP_COST : 1) / WEIGHTS_A_SECOND,
  estimateMemory: (_params, facts) => modelMemory(facts, 1),
});
