import { z } from "zod";
import { Precision, RuntimeDir } from "../folders.ts";
import { defineCall } from "../define_call.ts";

/** What a runtime loads in the place of an artifact. */
export const make_form = defineCall("make_form", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    output_dir: z.string().describe("empty directory"),
    exact: z.boolean().describe("every weight multiplied out to float32: for the proof"),
    precision: Precision,
    runtime_dir: RuntimeDir,
  },
  result: z.strictObject({ size_bytes: z.int(), notes: z.array(z.string()) }),
  of_trial: true,
});
