import { z } from "zod";

/** Call `push_model`: files into a repository of a Hugging Face-compatible hub, as one commit. */
export const PushRequest = z.strictObject({
  call: z.literal("push_model"),
  repo_id: z.string().describe("OWNER/NAME"),
  endpoint: z.string().nullable().describe("the hub's address; null: HF_ENDPOINT, else its own"),
  private: z.boolean().describe("of a repository that is made"),
  replace: z.boolean().describe("into one that has other files, too"),
  message: z.string().describe("of the commit"),
  files: z.array(z.strictObject({
    name: z.string().describe("in the repository"),
    path: z.string().describe("here, absolute"),
  })).min(1),
});
export type PushRequest = z.infer<typeof PushRequest>;

/** What call `push_model` answers, once the hub has told that every file is there. */
export const PushResult = z.strictObject({
  url: z.string().describe("of the repository"),
  commit: z.string(),
  created: z.boolean().describe("false: it was there"),
  bytes: z.int(),
});
export type PushResult = z.infer<typeof PushResult>;
