import { type JournalRecord, UsageError } from "../../../core/mod.ts";
import { journalEnd } from "../journal/journal.ts";
import { journalInfo, readJournal } from "../journal/reader.ts";
import { type Entry, firstFields, studyOf } from "../journal/record_line.ts";
import { runPaths, type StorePaths } from "../store_paths.ts";
import { oldBytes, runFolders } from "./shelf.ts";

/**
 * Places of a study's records: bytes of its own journal, behind those of an old store's one journal where
 * there is one. A study that was begun in that one goes on in its own.
 */
export interface StudyRange {
  from?: number;
  to?: number;
  /** Whole records of this type are passed over, ten times as fast. */
  without?: JournalRecord["type"];
  /** Told where the record behind one that was passed over begins. */
  passed?: (next: number) => void;
}

/** Whether an old store's entry is one of the study. A damaged one that names no trial may be. */
function isOf(entry: Entry, study_id: string): boolean {
  if (entry.kind === "record") return studyOf(entry.record) === study_id;
  if (entry.kind === "newer" || entry.trial_id === null) return true;
  return entry.trial_id.startsWith(`${study_id}/`);
}

/** The entries of a study from a place on, with their places. */
export async function* readStudy(
  paths: StorePaths,
  study_id: string,
  { from = 0, to = Infinity, without, passed }: StudyRange = {},
): AsyncGenerator<Entry> {
  const base = oldBytes(paths);
  if (from < base) {
    const range = { from, to: Math.min(to, base), without, ...(passed && { passed }) };
    for await (const entry of readJournal(paths.old_journal, range)) {
      if (isOf(entry, study_id)) yield entry;
      else passed?.(entry.next);
    }
  }
  const own = {
    from: Math.max(0, from - base),
    to: to - base,
    without,
    ...(passed && { passed: (next: number) => passed(base + next) }),
  };
  if (to <= base) return;
  for await (const entry of readJournal(runPaths(paths.root, study_id).journal, own)) {
    yield { ...entry, offset: base + entry.offset, next: base + entry.next };
  }
}

/** All of them; refuses a journal that only a newer pare can read. */
export async function knownEntries(
  paths: StorePaths,
  study_id: string,
  range: StudyRange,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of readStudy(paths, study_id, range)) {
    if (entry.kind === "newer") {
      throw new UsageError(
        `Cannot read the study ${study_id} in ${paths.root} as a newer pare wrote it (record version ${entry.version}); update pare`,
      );
    }
    entries.push(entry);
  }
  return entries;
}

/** Place behind the last whole record of a study. */
export function studyEnd(paths: StorePaths, study_id: string): number {
  const { journal } = runPaths(paths.root, study_id);
  try {
    return oldBytes(paths) + journalEnd(journal).end;
  } catch {
    return oldBytes(paths); // it has not begun, or is gone: whoever reads it says so
  }
}

/** Studies that an old store's journal opened, in order. */
async function oldStudies(paths: StorePaths): Promise<string[]> {
  const ids: string[] = [];
  if (oldBytes(paths) === 0) return ids;
  for await (const entry of readJournal(paths.old_journal, { without: "points" })) {
    if (entry.kind === "newer") {
      throw new UsageError(
        `Cannot read ${paths.old_journal} as a newer pare wrote it (record version ${entry.version}); update pare`,
      );
    }
    if (entry.kind === "record" && entry.record.type === "study_opened") {
      ids.push(entry.record.study_id);
    }
  }
  return ids;
}

/** Bytes of a journal that are looked at first for the record that opens its study. */
const FIRST_BYTES = 1 << 14;

interface Beginning {
  readonly at: string;
  /** What a journal begins with; a study where that is damaged, as it may be what opened it. */
  readonly type: JournalRecord["type"];
}

/** The first bytes of a file; none where it is not there. Without waiting: it is asked of a thousand. */
function firstBytes(path: string, buffer: Uint8Array): Uint8Array {
  if (journalInfo(path) === null) return buffer.subarray(0, 0);
  try {
    using file = Deno.openSync(path, { read: true });
    return buffer.subarray(0, file.readSync(buffer) ?? 0);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return buffer.subarray(0, 0);
    throw error;
  }
}

/** How the journal of a run begins; null: nothing in it can be read. */
async function beginningOf(
  paths: StorePaths,
  study_id: string,
  buffer: Uint8Array,
): Promise<Beginning | null> {
  const { journal } = runPaths(paths.root, study_id);
  const known = firstFields(firstBytes(journal, buffer));
  if (known !== null) return known;
  let damaged = false;
  for await (const entry of readJournal(journal, { chunk: FIRST_BYTES })) {
    damaged ||= entry.kind === "damaged";
    if (entry.kind !== "record") continue;
    const { at, type } = entry.record;
    return { at, type: damaged ? "study_opened" : type };
  }
  return null;
}

/** Every study that was opened in a store, the oldest first. */
export function studyIds(paths: StorePaths): Promise<string[]> {
  return studiesThat(paths, (type) => type === "study_opened");
}

/** Every study that a store tells anything of but what was imported, the oldest first. */
export function ownStudies(paths: StorePaths): Promise<string[]> {
  return studiesThat(paths, (type) => type !== "run_imported");
}

async function studiesThat(
  paths: StorePaths,
  begin: (type: JournalRecord["type"]) => boolean,
): Promise<string[]> {
  const old = await oldStudies(paths);
  const own: { study_id: string; at: string }[] = [];
  const buffer = new Uint8Array(FIRST_BYTES);
  for (const study_id of runFolders(paths)) {
    const beginning = await beginningOf(paths, study_id, buffer);
    if (beginning !== null && begin(beginning.type)) own.push({ study_id, at: beginning.at });
  }
  own.sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : a.study_id < b.study_id ? -1 : 1);
  return [...new Set([...old, ...own.map(({ study_id }) => study_id)])];
}
