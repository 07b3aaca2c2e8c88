import { type JournalRecord, UsageError } from "../../../core/mod.ts";
import { type Entry, readEntry } from "./record_line.ts";

const CHUNK = 1 << 20;

/** What of a journal is read. */
export interface ReadingRange {
  from?: number;
  to?: number;
  /** Whole records of this type are passed over, ten times as fast. */
  without?: JournalRecord["type"] | undefined;
  /** Bytes that are read at a time; default: 1 MiB. */
  chunk?: number;
  /** Told where the record behind one that was passed over begins. */
  passed?: (next: number) => void;
}

/**
 * How the file of a journal stands; null: it is not there. What is no file is refused before it is opened:
 * a pipe would be waited for for ever, and a device has no end.
 */
export function journalInfo(path: string): Deno.FileInfo | null {
  let info: Deno.FileInfo;
  try {
    info = Deno.statSync(path);
  } catch (error) {
    const absent = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory; // another program's file among the folders of runs
    if (absent) return null;
    throw error;
  }
  if (info.isFile) return info;
  throw new UsageError(
    `Cannot read ${path} as it is ${info.isDirectory ? "a folder" : "a pipe or device"}, and no ` +
      "journal: move it away, and put back the file that stood there",
  );
}

/**
 * Entries of a journal from a place on, up to `to` or the last complete line. Damaged ones are
 * given as such and the reading goes on behind them. A missing file has no entries.
 */
export async function* readJournal(
  path: string,
  { from = 0, to = Infinity, without, passed, chunk = CHUNK }: ReadingRange = {},
): AsyncGenerator<Entry> {
  if (journalInfo(path) === null) return;
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path, { read: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return; // it went meanwhile
    throw error;
  }
  try {
    await file.seek(from, Deno.SeekMode.Start);
    yield* entriesOf(file, { from, to, without, passed, bytes: chunk });
  } finally {
    file.close();
  }
}

async function* entriesOf(
  file: Deno.FsFile,
  { from, to, without, passed, bytes }: {
    bytes: number;
    from: number;
    to: number;
    without: ReadingRange["without"];
    passed: ReadingRange["passed"];
  },
): AsyncGenerator<Entry> {
  let pending = new Uint8Array(0);
  let base = from;
  for (let ended = false; !ended;) {
    // A record longer than a chunk: read as much again, so that copying stays linear.
    const room = Math.min(Math.max(bytes, pending.length), to - base - pending.length);
    const chunk = new Uint8Array(Math.max(0, room));
    const read = room > 0 ? await file.read(chunk) : null;
    ended = read === null;
    if (read !== null) pending = joined(pending, chunk.subarray(0, read));
    let at = 0;
    for (let entry = readEntry(pending, at, base, without); entry !== null;) {
      if (entry.kind === "skipped") passed?.(entry.next);
      else yield entry;
      at = entry.next - base;
      entry = at < pending.length ? readEntry(pending, at, base, without) : null;
    }
    pending = pending.slice(at);
    base += at;
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
