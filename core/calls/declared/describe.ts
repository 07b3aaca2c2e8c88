import { z } from "zod";
import { defineCall } from "../define_call.ts";

/** Knobs of every Python method by name and type: for the conformance test. */
export const describe = defineCall("describe", {
  request: {
    python_path: z.string().optional().describe("only this file: a third party's Python half"),
  },
  result: z.strictObject({
    methods: z.array(z.strictObject({
      agent: z.string(),
      method: z.string(),
      knobs: z.record(z.string(), z.string()).describe("type by name: bool, int, float or str"),
    })),
  }),
});
