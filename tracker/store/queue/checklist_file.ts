import { readWhole } from "../../../python-backends/whole_file.ts";
import { ownPaths } from "./queue_paths.ts";

/** A line of a checklist. `ok` null: it was looked at and decides nothing. */
export interface ChecklistLine {
  readonly check: string;
  readonly ok: boolean | null;
  readonly said: string;
}

/** What was looked at before an attempt began and after it had ended. */
export interface Checklist {
  readonly before?: readonly ChecklistLine[];
  readonly after?: readonly ChecklistLine[];
}

export function readChecklist(folder: string): Checklist {
  return readWhole<Checklist>(ownPaths(folder).checklist) ?? {};
}
