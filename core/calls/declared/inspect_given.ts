import { z } from "zod";
import { GivenFacts } from "../../schemas/facts.ts";
import { defineCall } from "../define_call.ts";

/** Looks at checkpoints that were made elsewhere: whether each is one of the model, and what it holds. */
export const inspect_given = defineCall("inspect_given", {
  request: {
    original_dir: z.string(),
    names: z.array(z.string()).describe("GGUF files, directories, names on the hub"),
  },
  result: z.strictObject({
    given: z.array(z.strictObject({
      path: z.string().nullable().describe("where it lies; null: nowhere"),
      facts: GivenFacts.omit({ content: true }).nullable().describe("null: it was refused"),
      problem: z.string().nullable().describe("why, in one sentence"),
      hint: z.string().nullable(),
    })),
  }),
  imports: "torch",
});
