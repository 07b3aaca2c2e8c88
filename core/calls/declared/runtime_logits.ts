import { z } from "zod";
import { Precision, RuntimeDir } from "../folders.ts";
import { defineCall } from "../define_call.ts";

/** Logits of a text that a runtime samples itself, for prove_runtime. */
export const runtime_logits = defineCall("runtime_logits", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().describe("as it is timed"),
    exact_form_dir: z.string().describe("the same weights as float32"),
    tokens: z.int(),
    seed: z.int(),
    output_path: z.string(),
    precision: Precision,
    runtime_dir: RuntimeDir,
  },
  result: z.strictObject({ tokens: z.int() }),
  of_trial: true,
});
