import { z } from "zod";
import { readWhole } from "../../../python-backends/whole_file.ts";
import { ownPaths } from "./queue_paths.ts";

const Line = z.strictObject({
  check: z.string(),
  ok: z.boolean().nullable().describe("null: it was looked at and decides nothing"),
  said: z.string(),
});
/** A line of a checklist. */
export type ChecklistLine = z.infer<typeof Line>;

/** What was looked at before an attempt began and after it had ended. */
const Checklist = z.strictObject({
  before: z.array(Line).optional(),
  after: z.array(Line).optional(),
});
export type Checklist = z.infer<typeof Checklist>;

/** An empty one where there is none, or a damaged one: it decides nothing any more. */
export function readChecklist(folder: string): Checklist {
  return Checklist.safeParse(readWhole(ownPaths(folder).checklist)).data ?? {};
}
