import { UsageError } from "../../core/mod.ts";
import { makeFolder, syncFolder } from "../../python-backends/whole_file.ts";
import { useDatabase } from "./index/database.ts";
import { appendTo } from "./journal/journal.ts";
import type { Store } from "./store.ts";
import { checkFormat } from "./store_format.ts";
import { runPaths } from "./store_paths.ts";
import { findSubject } from "./subjects.ts";

/** Takes it over for readers, who would wait for the study's own next record; it need not succeed. */
async function indexed(root: string): Promise<void> {
  const database = useDatabase(root);
  try {
    await database.flush({ patience_ms: 500, keep_log: false, budget_ms: 500 });
  } catch {
    // It is in the journal: whoever asks next takes it over, or says why that cannot be done.
  } finally {
    await database.close();
  }
}

/**
 * Notes a sentence for a study or a trial; it is on disk when this resolves, also while another process
 * writes that study. Gives the note's id.
 */
export async function takeNote(store: Store, name: string, text: string): Promise<string> {
  if (text.trim() === "") {
    throw new UsageError(`Cannot note nothing for "${name}": write the note in quotes`);
  }
  const subject = await findSubject(store, name);
  const note_id = crypto.randomUUID();
  const { folder, journal } = runPaths(store.paths.root, subject.study_id);
  checkFormat(store.paths.root, true);
  makeFolder(folder); // a study of an old store has none yet
  await appendTo(journal, {
    type: "note",
    at: new Date().toISOString(),
    ...subject,
    note_id,
    text,
  });
  syncFolder(folder); // its journal may be new, too
  await indexed(store.paths.root);
  return note_id;
}
