import { z } from "zod";
import { GroupMember } from "./found_task.ts";
import { WireScorer } from "../scoring/wire_scorer.ts";

/** A benchmark as the Python half needs it; comes from a task plugin. */
export const WireTask = z.strictObject({
  task: z.string(),
  task_version: z.string(),
  origin: z.enum(["plugin", "lm_eval", "file"]).describe(
    "who defines it: this project or a third party's plugin, lm-eval, or a user's task file",
  ),
  scorers: z.array(WireScorer).min(1).describe("the first gives the task's own figure"),
  lm_eval_task: z.string().nullable().describe("lm-eval's own name; null: `definition` is used"),
  definition: z.record(z.string(), z.unknown()).nullable().describe(
    "an lm-eval YAML document as JSON; data_files are resolved against data_path",
  ),
  data_file: z.string().nullable().describe("where its rows lie in a folder of benchmark files"),
  data_path: z.string().nullable().describe("local .jsonl or .jsonl.gz; null: lm-eval's own data"),
  few_shot: z.int(),
  metric: z.string().describe("lm-eval's metric and filter, such as acc,none"),
  reported_metric: z.string().describe("pare's name: accuracy, perplexity"),
  unit: z.string(),
  direction: z.enum(["maximize", "minimize"]),
  window_tokens: z.int().nullable().describe(
    "its rows are a text that is read in windows of so many tokens; null: its rows are asked",
  ),
  chance: z.number().nullable().optional().describe("score of guessing, as its definition says"),
  tokenizer_dir: z.string().nullable().optional().describe(
    "whose tokens its rows are made in; absent: its rows are not made, or are made already",
  ),
  member_of: z.array(GroupMember).optional().describe("groups of lm-eval that asked for it"),
});
export type WireTask = z.infer<typeof WireTask>;

/**
 * Which samples of a task to run: row numbers of its data in file order. A text's samples are the
 * windows of its joined rows, numbered from 0.
 */
export const SampleSelection = z.strictObject({
  task: z.string(),
  rows: z.array(z.int()),
  weigh_strata: z.boolean().optional().describe("each part of the task counts by its rows"),
});
export type SampleSelection = z.infer<typeof SampleSelection>;
