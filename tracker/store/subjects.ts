import { unknownName, UsageError } from "../../core/mod.ts";
import { readJournal } from "./journal/reader.ts";
import { subjectOf } from "./rows/said_rows.ts";
import { shelfJournals } from "./shelf/shelf.ts";
import type { Store } from "./store.ts";

/** A study, or one of its trials. */
export interface Subject {
  study_id: string;
  trial_id: string | null;
}

const FIND = `
  SELECT study_id, NULL AS trial_id FROM studies WHERE study_id = $name
  UNION SELECT study_id, trial_id FROM trials WHERE trial_id = $name
  UNION SELECT study_id, trial_id FROM imported_runs WHERE trial_id = $name`;

/** Every study and trial that the journals name: what the index may not have yet. */
async function namedInJournals({ paths }: Store): Promise<Map<string, Subject>> {
  const found = new Map<string, Subject>();
  for (const { path } of shelfJournals(paths)) {
    for await (const entry of readJournal(path, { without: "points" })) {
      if (entry.kind !== "record") continue;
      const { study_id, trial_id } = subjectOf(entry.record);
      found.set(study_id, { study_id, trial_id: null });
      if (trial_id !== null) found.set(trial_id, { study_id, trial_id });
    }
  }
  return found;
}

/** The study or trial of that name; an unknown name gets the nearest. */
export async function findSubject(store: Store, name: string): Promise<Subject> {
  try {
    const { rows: [row] } = await store.query(FIND, { params: { name } });
    if (row !== undefined) return row as unknown as Subject; // the columns of FIND
  } catch (error) {
    if (!(error instanceof UsageError)) throw error; // somebody has the index open
  }
  const named = await namedInJournals(store);
  const found = named.get(name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("study or trial", name, [...named.keys()]));
}
