import { crc32 } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { readJournal } from "./reader.ts";

/** Bytes before a place that its mark is taken over: the end of a record at least. */
const MARKED = 4096;

/** A checksum of what stands before a place of the journal; null where the journal is shorter. */
function markAt(journal: string, offset: number): string | null {
  const bytes = new Uint8Array(Math.min(offset, MARKED));
  if (bytes.length === 0) return "empty";
  const file = Deno.openSync(journal, { read: true });
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

/** How far a database has read, and the mark of that place. */
export interface SinkPlace {
  readonly offset: number;
  /** Null: written by a version that made none. */
  readonly mark: string | null;
}

/** Where a database is in the journal. */
export async function sinkPlace(connection: DuckDBConnection): Promise<SinkPlace> {
  const result = await connection.runAndReadAll("FROM sink_offset");
  const [offset, mark] = result.getRows()[0] ?? [];
  return { offset: Number(offset ?? 0), mark: typeof mark === "string" ? mark : null };
}

/** Writes the place down, in the transaction of the rows before it. */
export async function writePlace(
  connection: DuckDBConnection,
  journal: string,
  offset: number,
): Promise<void> {
  const mark = markAt(journal, offset);
  await connection.run("UPDATE sink_offset SET journal_offset = ?, journal_mark = ?", [
    offset,
    mark,
  ]);
}

/**
 * Whether what the journal holds before the place is what the database has read there, or was: a
 * record that is damaged since has another mark, and the database is the one that holds it whole.
 */
export async function isPlaceOf(journal: string, { offset, mark }: SinkPlace): Promise<boolean> {
  if (mark === null || offset === 0) return true;
  return markAt(journal, offset) === mark || await isDamagedBefore(journal, offset);
}

/** Whether a damaged record is what changed the mark: records end at the place as they did. */
async function isDamagedBefore(journal: string, offset: number): Promise<boolean> {
  let damaged = false;
  let end = 0;
  for await (const entry of readJournal(journal, { to: offset })) {
    end = entry.next;
    damaged ||= entry.kind === "damaged" && entry.next > offset - MARKED;
  }
  return damaged && end === offset;
}
