import { z } from "zod";
import { defineCall } from "../../define_call.ts";

/** A written artifact as files that other libraries load. */
export const convert = defineCall("convert", {
  request: {
    format: z.string().describe("a format of pare_backends/conversion"),
    artifact_dir: z.string(),
    output_dir: z.string().describe("empty directory"),
  },
  result: z.strictObject({
    size_bytes: z.int(),
    formula_bytes: z.int(),
    notes: z.array(z.string()).describe("what the files lack, in words"),
  }),
  of_trial: true,
});
