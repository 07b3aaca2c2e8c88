import { UsageError } from "../../core/mod.ts";
import { named } from "../ground/storage/file_lock.ts";
import { leaveNote, waitingNotes } from "./journal/notes_inbox.ts";
import { openStore, type Store } from "./store.ts";
import type { StorePaths } from "./store_paths.ts";
import { storeWriter } from "./store_writer.ts";
import { findSubject } from "./subjects.ts";

/** How long one waits to see the running writer take a note. */
const WAIT_MS = 5_000;

/** Whether the note is still there after a while. */
async function isWaiting(root: string, note_id: string): Promise<boolean> {
  for (const until = performance.now() + WAIT_MS;;) {
    if (!waitingNotes(root).some(({ note }) => note.note_id === note_id)) return false;
    if (performance.now() >= until) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Opens the store so that it takes what waits; false where another process writes it. */
async function takeHere(paths: StorePaths): Promise<boolean> {
  try {
    await (await openStore(paths.root, { write: true, wait_ms: 0 })).close();
    return true;
  } catch (error) {
    if (error instanceof UsageError && storeWriter(paths) !== null) return false;
    throw error;
  }
}

/** Puts a sentence into the inbox of notes for a study or a trial; gives the note's id. */
export async function writeNote(store: Store, name: string, text: string): Promise<string> {
  if (text.trim() === "") {
    throw new UsageError(`Cannot note nothing for "${name}": write the note in quotes`);
  }
  const subject = await findSubject(store, name);
  const note_id = crypto.randomUUID();
  leaveNote(store.paths.root, {
    type: "note",
    at: new Date().toISOString(),
    ...subject,
    note_id,
    text,
  });
  return note_id;
}

/** Sees to it that a note that was written is taken up; the sentence that says whether it is. */
export async function takeNote(paths: StorePaths, name: string, note_id: string): Promise<string> {
  if (await takeHere(paths)) return `noted for ${name}`;
  const writer = storeWriter(paths);
  const who = writer === null ? "the store's writer" : named(writer);
  return await isWaiting(paths.root, note_id)
    ? `noted for ${name}; ${who} takes it up when it can, or whoever opens the store next`
    : `noted for ${name}; ${who} took it up`;
}
