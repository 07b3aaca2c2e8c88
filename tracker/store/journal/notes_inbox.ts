import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { encodeLine, readEntry } from "./record_line.ts";

/** How often a writer looks for notes that other processes left. */
const EVERY_MS = 2_000;

export type Note = Extract<JournalRecord, { type: "note" }>;

/** Where notes wait for whoever writes the store. */
export function inboxPath(root: string): string {
  return join(root, "inbox");
}

/** Leaves a note for the store's writer: on disk, whole or not at all, when it resolves. */
export function leaveNote(root: string, note: Note): void {
  const inbox = inboxPath(root);
  Deno.mkdirSync(inbox, { recursive: true });
  const partial = join(inbox, `${note.note_id}.partial`);
  const file = Deno.openSync(partial, { write: true, createNew: true });
  try {
    const line = encodeLine(note);
    for (let at = 0; at < line.length;) at += file.writeSync(line.subarray(at));
    file.syncSync();
  } finally {
    file.close();
  }
  Deno.renameSync(partial, join(inbox, `${note.note_id}.note`));
}

/** Notes that nobody has taken up yet, oldest first. */
export function waitingNotes(root: string): { path: string; note: Note }[] {
  const waiting: { path: string; note: Note }[] = [];
  let names: string[];
  try {
    names = [...Deno.readDirSync(inboxPath(root))].map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  for (const name of names.filter((name) => name.endsWith(".note"))) {
    const path = join(inboxPath(root), name);
    const entry = readEntry(Deno.readFileSync(path), 0, 0);
    if (entry?.kind !== "record" || entry.record.type !== "note") continue; // kept for a human
    waiting.push({ path, note: entry.record });
  }
  return waiting.sort((a, b) => a.note.at < b.note.at ? -1 : 1);
}

/**
 * Takes waiting notes into the journal, then removes their files: killed in between, a note is
 * recorded twice, and its id makes it one.
 */
export async function takeNotes(
  root: string,
  record: (note: Note) => Promise<void>,
): Promise<void> {
  for (const { path, note } of waitingNotes(root)) {
    await record(note);
    Deno.removeSync(path);
  }
}

export interface Inbox {
  /** Takes what waits a last time. */
  stop(): Promise<void>;
}

/** Takes notes that other processes leave, at once and then every two seconds. */
export function watchInbox(root: string, record: (note: Note) => Promise<void>): Inbox {
  let taking: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const take = (): Promise<void> => {
    // What cannot be taken now (a full disk) waits in the inbox for the next time.
    taking = taking.then(() => takeNotes(root, record)).catch(() => {});
    return taking;
  };
  const wait = (): void => {
    timer = setTimeout(() => void take().then(() => timer !== null && wait()), EVERY_MS);
    Deno.unrefTimer(timer);
  };
  void take();
  wait();
  return {
    async stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await take();
    },
  };
}
