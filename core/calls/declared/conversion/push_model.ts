import { z } from "zod";
import { defineCall } from "../../define_call.ts";

/** Files into a repository of a Hugging Face-compatible hub, as one commit. */
export const push_model = defineCall("push_model", {
  request: {
    repo_id: z.string().describe("OWNER/NAME"),
    endpoint: z.string().nullable().describe("the hub's address; null: HF_ENDPOINT, else its own"),
    private: z.boolean().describe("of a repository that is made"),
    replace: z.boolean().describe("into one that has other files, too"),
    message: z.string().describe("of the commit"),
    files: z.array(z.strictObject({
      name: z.string().describe("in the repository"),
      path: z.string().describe("here, absolute"),
    })).min(1),
  },
  result: z.strictObject({
    url: z.string().describe("of the repository"),
    commit: z.string(),
    created: z.boolean().describe("false: it was there"),
    bytes: z.int(),
  }),
});
