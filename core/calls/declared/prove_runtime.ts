import { z } from "zod";
import { Numerics } from "../../schemas/measurement.ts";
import { defineCall } from "../define_call.ts";

/** The runtime's logits, strict and as it is timed, against the dequantized model's. */
export const prove_runtime = defineCall("prove_runtime", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    logits_path: z.string().describe("written by runtime_logits"),
  },
  result: z.strictObject({
    strict_kl: z.number(),
    strict_max_difference: z.number(),
    default_kl: z.number(),
    default_agreement: z.number().describe("share of positions with the same best token"),
    rounding_kl: z.number().nullable().describe(
      "the evaluated model against itself, nudged by the last digits of a float; null: nothing is rounded",
    ),
    tokens: z.int(),
    numerics: Numerics,
  }),
  imports: "torch",
  of_trial: true,
});
