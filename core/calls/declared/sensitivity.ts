import { z } from "zod";
import { LayerScore, LayerScorer } from "../../schemas/artifact.ts";
import { defineCall } from "../define_call.ts";

/** What each layer of a model costs in each format. */
export const sensitivity = defineCall("sensitivity", {
  request: {
    artifact_dir: z.string(),
    calibration_path: z.string().describe("written by prepare_data"),
    formats: z.array(z.string()).min(1).describe("by name, such as 4-bit-g64"),
    scorers: z.array(LayerScorer).min(1),
    windows: z.int().positive(),
    tokens: z.int().positive().describe("of each window"),
    seed: z.int(),
    work_dir: z.string().nullable().optional().describe(
      "of this request alone: what a killed run left in it is found by the next one",
    ),
  },
  result: z.strictObject({ layers: z.array(LayerScore) }),
  imports: "torch",
});
