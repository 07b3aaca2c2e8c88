import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { named } from "../storage/file_lock.ts";
import { leaveNote, waitingNotes } from "../store/journal/notes_inbox.ts";
import { openStore } from "../store/store.ts";
import type { StorePaths } from "../store/store_paths.ts";
import { storeWriter } from "../store/store_writer.ts";
import { findSubject } from "../store/subjects.ts";

/** How long the command waits to see the running writer take the note. */
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

/** `pare note`: a sentence that stays with a study or a trial, also while a study runs. */
export async function noteCommand(
  name: string,
  text: string,
  options: { store?: string },
): Promise<void> {
  if (text.trim() === "") {
    throw new UsageError(`Cannot note nothing for "${name}": write the note in quotes`);
  }
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const subject = await findSubject(store, name);
  const { paths } = store;
  const { root } = paths;
  const note_id = crypto.randomUUID();
  leaveNote(root, { type: "note", at: new Date().toISOString(), ...subject, note_id, text });
  await store.close();
  if (await takeHere(paths)) return console.log(`noted for ${name}`);
  const writer = storeWriter(paths);
  const who = writer === null ? "the store's writer" : named(writer);
  console.log(
    await isWaiting(root, note_id)
      ? `noted for ${name}; ${who} takes it up when it can, or whoever opens the store next`
      : `noted for ${name}; ${who} took it up`,
  );
}
