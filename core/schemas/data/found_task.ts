import { z } from "zod";

/** That a task was asked for by the name of a group of lm-eval, which has a figure of its own. */
export const GroupMember = z.strictObject({
  group: z.string(),
  weight_by_size: z.boolean().describe("each task counts by its samples, else all alike"),
  members: z.int().describe("tasks of the group"),
});
export type GroupMember = z.infer<typeof GroupMember>;

/** A benchmark that is no plugin, as its document tells it. */
export const FoundTask = z.strictObject({
  name: z.string(),
  origin: z.enum(["lm_eval", "file"]),
  version: z.string().describe("lm-eval's number, or the hash of a task file"),
  summary: z.string(),
  lm_eval_task: z.string().nullable(),
  definition: z.record(z.string(), z.unknown()),
  few_shot: z.int().min(0),
  metric: z.string(),
  scorers: z.array(z.strictObject({
    scorer: z.string(),
    params: z.record(z.string(), z.unknown()),
  })).min(1).describe("as its document names them"),
  chance: z.number().nullable(),
  proxy_samples: z.int().nullable(),
  full_samples: z.int().nullable(),
  data_file: z.string().nullable().describe("where its rows lie in a folder of benchmark files"),
  example_file: z.string().nullable().describe("beside them: the rows of its examples"),
  data_path: z.string().nullable().describe("the rows that a task file names"),
  member_of: z.array(GroupMember),
});
export type FoundTask = z.infer<typeof FoundTask>;
