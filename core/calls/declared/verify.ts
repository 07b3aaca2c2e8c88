import { z } from "zod";
import { LayerValue, Verification } from "../../schemas/artifact.ts";
import { WeightsDir } from "../folders.ts";
import { CALL_OPTIONS } from "../../schemas/call_options.ts";
import { defineCall } from "../define_call.ts";

/** Reloads a written artifact in this fresh process and compares it with its source. */
export const verify = defineCall("verify", {
  request: {
    artifact_dir: z.string(),
    source_dir: z.string(),
    weights_dir: WeightsDir,
    plain_load: z.boolean().optional().describe(
      "whether the lines are tried that a report prints of what transformers loads by itself",
    ),
    ...CALL_OPTIONS.verify.shape,
  },
  result: Verification.extend({
    cosines: z.array(LayerValue).describe("of each layer's weights with the source's"),
  }),
  imports: "torch",
  of_trial: true,
  sampled: true,
});
