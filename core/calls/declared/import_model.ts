import { z } from "zod";
import { ModelFacts } from "../../schemas/facts.ts";
import { defineCall } from "../define_call.ts";

/** Reads a model, writes (GGUF, tiny) or points to (checkpoint) its baseline directory. */
export const import_model = defineCall("import_model", {
  request: {
    model_name: z.string(),
    output_dir: z.string().describe("empty directory; used where weights must be converted"),
    trust_remote_code: z.boolean(),
    tokenizer_dir: z.string().optional().describe("of the model whose tokenizer it must have"),
  },
  result: ModelFacts,
  imports: "torch",
});
