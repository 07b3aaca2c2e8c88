import { z } from "zod";

/** Why a text looks like another language, or another kind of text, than what is evaluated. */
const Unlike = z.string().nullable().optional().describe("a sentence; null: it does not");

/** What `prepare_data` wrote: windows that methods work on, and the order of every task's rows. */
export const PreparedData = z.strictObject({
  calibration_path: z.string(),
  calibration_ids: z.array(z.string()),
  calibration_sha256: z.string(),
  calibration_unlike: Unlike,
  training: z.strictObject({
    path: z.string(),
    ids: z.array(z.string()),
    sha256: z.string(),
    unlike: Unlike,
  }).nullable().optional().describe("absent: no method trains"),
  tasks: z.array(z.strictObject({
    task: z.string(),
    rows: z.int().describe("rows that the task has"),
    data_sha256: z.string(),
    order: z.array(z.int()).describe("every row number once, as the seed drew them"),
    rows_file: z.string().nullable().optional().describe("of rows that were made, beside these"),
    groups: z.array(z.string()).nullable().describe("of every row; null: the task has none"),
  })),
  refused: z.array(z.strictObject({ task: z.string(), reason: z.string() })).describe(
    "tasks whose data are broken or not to be had",
  ),
});
