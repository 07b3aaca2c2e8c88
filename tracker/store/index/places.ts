import { crc32 } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { readJournal } from "../journal/reader.ts";
import { endOf, type ShelfJournal } from "../shelf/shelf.ts";
import { OLD_JOURNAL } from "../store_paths.ts";

/** Bytes before a place that its mark is taken over: the end of a record at least. */
const MARKED = 4096;

/** How far an index has read a journal, and the mark of that place. */
export interface Place {
  readonly offset: number;
  /** Null: written by a version that made none. */
  readonly mark: string | null;
}

/** By the journal's name: how far an index has read each. */
export type Places = ReadonlyMap<string, Place>;

/** By the journal's name: how much of it is meant. */
export type Ends = Readonly<Record<string, number>>;

/** A checksum of what stands before a place of the journal; null where the journal is shorter. */
export function markAt(path: string, offset: number): string | null {
  const bytes = new Uint8Array(Math.min(offset, MARKED));
  if (bytes.length === 0) return "empty";
  const file = Deno.openSync(path, { read: true });
  try {
    file.seekSync(offset - bytes.length, Deno.SeekMode.Start);
    for (let at = 0; at < bytes.length;) {
      const read = file.readSync(bytes.subarray(at));
      if (read === null) return null;
      at += read;
    }
  } finally {
    file.close();
  }
  return crc32(bytes).toString(16).padStart(8, "0");
}

function placeOf(offset: unknown, mark: unknown): Place {
  return { offset: Number(offset ?? 0), mark: typeof mark === "string" ? mark : null };
}

/** How far an index has read each journal. */
export async function indexPlaces(connection: DuckDBConnection): Promise<Places> {
  const result = await connection.runAndReadAll(
    "SELECT journal, journal_offset, journal_mark FROM journals",
  );
  return new Map(
    result.getRows().map(([name, offset, mark]) => [String(name), placeOf(offset, mark)]),
  );
}

/** The same of an index of any schema: those of 65 and before have read one journal. */
export async function anyIndexPlaces(connection: DuckDBConnection): Promise<Places> {
  const found = await connection.runAndReadAll(
    "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'sink_offset'",
  );
  if (Number(found.getRows()[0]?.[0]) === 0) return await indexPlaces(connection);
  const result = await connection.runAndReadAll("FROM sink_offset");
  const [offset, mark] = result.getRows()[0] ?? [];
  return new Map([[OLD_JOURNAL, placeOf(offset, mark)]]);
}

/** Writes places down, in the transaction of the rows before them. */
export async function writePlaces(
  connection: DuckDBConnection,
  reached: ReadonlyMap<ShelfJournal, number>,
): Promise<void> {
  for (const [{ name, path, study_id }, offset] of reached) {
    await connection.run("DELETE FROM journals WHERE journal = ?", [name]);
    await connection.run("INSERT INTO journals VALUES (?, ?, ?, ?)", [
      ...[name, study_id, offset, markAt(path, offset)],
    ]);
  }
}

/** Journals whose bytes before a place were found to be those that were read, as they were then. */
const known = new Map<string, string>();

/**
 * Whether what a journal holds before the place is what the index has read there, or was: a record that
 * is damaged since has another mark, and the index is the one that holds it whole.
 */
async function isPlaceOf(journal: ShelfJournal, { offset, mark }: Place): Promise<boolean> {
  if (mark === null || offset === 0) return true;
  const seen = `${journal.stamp} ${offset} ${mark}`;
  if (known.get(journal.path) === seen) return true;
  const same = markAt(journal.path, offset) === mark ||
    await isDamagedBefore(journal.path, offset);
  if (same) known.set(journal.path, seen);
  return same;
}

/** Whether a damaged record is what changed the mark: records end at the place as they did. */
async function isDamagedBefore(path: string, offset: number): Promise<boolean> {
  let damaged = false;
  let end = 0;
  for await (const entry of readJournal(path, { to: offset })) {
    end = entry.next;
    damaged ||= entry.kind === "damaged" && entry.next > offset - MARKED;
  }
  return damaged && end === offset;
}

/** Why an index cannot be of the journals on the shelf; null: it is of these, however far it has read. */
export async function foreignPlace(
  journals: readonly ShelfJournal[],
  places: Places,
): Promise<string | null> {
  const names = new Set(journals.map(({ name }) => name));
  for (const [name, { offset }] of places) {
    if (offset > 0 && !names.has(name)) return `the journal ${name} that it has read is gone`;
  }
  for (const journal of journals) {
    const place = places.get(journal.name);
    if (place === undefined) continue;
    const { name, bytes } = journal;
    if (place.offset > bytes) {
      return `the database has read ${name} to ${place.offset}, the journal ends at ${bytes}`;
    }
    if (!await isPlaceOf(journal, place)) {
      return `the journal ${name} was cut before ${place.offset} and written on since`;
    }
  }
  return null;
}

/** How much of a shelf an index has. */
export interface Coverage {
  /** Bytes of whole records on the shelf. */
  readonly journal_bytes: number;
  /** Of those, what the index has. */
  readonly database_bytes: number;
  /** Journals that it does not have to their ends, with what is lacking. */
  readonly lacking: readonly { readonly journal: ShelfJournal; readonly bytes: number }[];
}

/** How much of the shelf these places are, journal by journal. */
export function coverage(journals: readonly ShelfJournal[], places: Places): Coverage {
  let journal_bytes = 0;
  let database_bytes = 0;
  const lacking: { journal: ShelfJournal; bytes: number }[] = [];
  for (const journal of journals) {
    const end = endOf(journal);
    const has = Math.min(places.get(journal.name)?.offset ?? 0, end);
    journal_bytes += end;
    database_bytes += has;
    if (has < end) lacking.push({ journal, bytes: end - has });
  }
  return { journal_bytes, database_bytes, lacking };
}
