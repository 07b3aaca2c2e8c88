import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { journalEnd } from "../journal/journal.ts";
import { journalInfo } from "../journal/reader.ts";
import { OLD_JOURNAL, runPaths, type StorePaths, studyOfFolder } from "../store_paths.ts";

/** A journal that stands on a store's shelf. */
export interface ShelfJournal {
  /** Its path relative to the store, such as `runs/llama/journal.jsonl`. */
  readonly name: string;
  readonly path: string;
  /** The study it tells of; null: an old store's one journal, which tells of many. */
  readonly study_id: string | null;
  readonly bytes: number;
  /** Tells whether it is the file, and as long, as it was when it was looked at last. */
  readonly stamp: string;
  /**
   * Place of its first byte. A study that was begun in an old store goes on in a journal of its own: its
   * records there stand behind all those here.
   */
  readonly base: number;
}

interface Found {
  readonly bytes: number;
  readonly stamp: string;
}

function found(path: string): Found | null {
  const info = journalInfo(path);
  if (info === null) return null;
  const { dev, ino, size, mtime } = info;
  return { bytes: size, stamp: `${dev} ${ino} ${size} ${mtime?.getTime()}` };
}

/** Bytes of an old store's journal; 0: there is none. Nobody appends to it any more. */
export function oldBytes({ old_journal }: StorePaths): number {
  return found(old_journal)?.bytes ?? 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
}

/** The studies that have a folder on the shelf, whether or not anything is recorded in it. */
export function runFolders({ runs }: StorePaths): string[] {
  return namesIn(runs).flatMap((name) => studyOfFolder(name) ?? []);
}

/** Every journal in which something is written, in one order: an old store's first, then by name. */
export function shelfJournals(paths: StorePaths): ShelfJournal[] {
  const old = found(paths.old_journal);
  const base = old?.bytes ?? 0;
  const own = runFolders(paths).flatMap((study_id): ShelfJournal[] => {
    const { name, journal } = runPaths(paths.root, study_id);
    const file = found(journal);
    return file === null || file.bytes === 0
      ? []
      : [{ name, path: journal, study_id, base, ...file }];
  });
  if (old === null || old.bytes === 0) return own;
  return [{ name: OLD_JOURNAL, path: paths.old_journal, study_id: null, base: 0, ...old }, ...own];
}

/** Refuses a store that was there when it was opened and is not now. */
export function requireThere(paths: StorePaths): void {
  if (existsSync(paths.runs) || existsSync(paths.old_journal)) return;
  throw new UsageError(
    `Cannot read ${paths.root} as it is gone: the store was deleted or moved while it was open; put it ` +
      "back, or open a store that is there",
  );
}

/** Whether nothing was ever recorded. */
export function isEmptyShelf(paths: StorePaths): boolean {
  if (oldBytes(paths) > 0) return false;
  return namesIn(paths.runs).every((name) =>
    (found(join(paths.runs, name, "journal.jsonl"))?.bytes ?? 0) === 0
  );
}

/** Journals as they were looked at last: one that has not changed ends where it did. */
const ends = new Map<string, { stamp: string; end: number }>();

/** Where the last whole record of a journal ends. */
export function endOf({ path, stamp }: ShelfJournal): number {
  const before = ends.get(path);
  if (before?.stamp === stamp) return before.end;
  const { end } = journalEnd(path);
  ends.set(path, { stamp, end });
  return end;
}

/** Bytes of all the whole records on a shelf. */
export function shelfBytes(paths: StorePaths): number {
  return shelfJournals(paths).reduce((sum, journal) => sum + endOf(journal), 0);
}
