import { z } from "zod";
import { LayerScore } from "../../schemas/artifact.ts";
import { defineCall } from "../define_call.ts";

/** Scores of a model's layers from another program's file. */
export const read_scores = defineCall("read_scores", {
  request: {
    artifact_dir: z.string().describe("of the model that the scores must be of"),
    path: z.string().describe("AutoScheme's JSON file or auto_quantize's state"),
  },
  result: z.strictObject({
    program: z.string().describe("the program, such as AutoRound AutoScheme"),
    sha256: z.string().describe("of the file"),
    layers: z.array(LayerScore),
  }),
});
