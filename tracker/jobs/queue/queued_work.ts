import { z } from "zod";

/** What a job of the queue runs: a study. Where its document and its store lie follows from the queue's place. */
export const QueuedWork = z.strictObject({
  study_id: z.string(),
  kind: z.string().describe("of the run"),
  model_name: z.string(),
  dataset: z.string(),
  cwd: z.string().describe("the folder that names in the document are relative to"),
  data_sha256: z.string().nullable().describe(
    "of the dataset's file as it was submitted; null: it is no file",
  ),
  code_commit: z.string().nullable().describe("of pare as it was submitted; null: no checkout"),
});
export type QueuedWork = z.infer<typeof QueuedWork>;

/** The same as an attempt's program is told it, where the queue lies now. */
export const AttemptWork = QueuedWork.extend({
  store: z.string().describe("the store that it writes"),
  artifacts: z.string().nullable().default(null).describe(
    "the object store of the machines of its engine; null: they have none",
  ),
  document: z.string().describe("the file that holds the study's document, as it was given"),
});
export type AttemptWork = z.infer<typeof AttemptWork>;
