import { UsageError } from "../../../core/errors.ts";
import type { Holder } from "../../ground/storage/file_holders.ts";
import { processCommand } from "../../../python-backends/process_owner.ts";
import { storageFault } from "../../ground/storage/storage_error.ts";

/** Why the database could not be opened: each is answered in another way. */
export type Obstacle =
  | { obstacle: "held"; holder: Holder | null }
  | { obstacle: "damaged"; reason: string };

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first line, without where DuckDB's own manual says more. */
export function firstLine(error: unknown): string {
  return messageOf(error).split("\n")[0] ?? "";
}

function heldBy(message: string): Obstacle | null {
  if (!/Could not set lock|Conflicting lock/i.test(message)) return null;
  const pid = Number(/PID (\d+)/.exec(message)?.[1] ?? NaN);
  const holder = Number.isNaN(pid) ? null : { pid, command: processCommand(pid) };
  return { obstacle: "held", holder };
}

/** What this machine lacks, whatever the file holds: another file would fail alike. */
const NOT_THE_FILE =
  /Permission denied|not permitted|Read-only file system|Too many open files|Out of Memory|Cannot allocate|failed to allocate/i;

/**
 * Why DuckDB did not open a file. Whatever is not another process's, of a newer DuckDB or the
 * machine's fault is the file's: cut, of another program, empty, a directory.
 *
 * @throws what is not the file's fault, as a sentence.
 */
export function openingObstacle(path: string, error: unknown): Obstacle {
  const message = messageOf(error);
  const held = heldBy(message);
  if (held !== null) return held;
  const version = /with version number (\d+)/.exec(message)?.[1];
  if (version !== undefined) throw new UsageError(newerFormatSentence(path, version));
  const fault = storageFault(error)?.kind;
  if (fault === "no_room" || fault === "limit") throw error;
  if (NOT_THE_FILE.test(message)) {
    throw new UsageError(`Cannot open ${path}: ${firstLine(error)}`, { cause: error });
  }
  // What DuckDB would read another program's file with is never fetched, and no reason to a reader.
  const reason = /external extensions|download extension/i.test(message)
    ? `${path} is no database of DuckDB's`
    : firstLine(error);
  return { obstacle: "damaged", reason };
}

/** Whether a statement failed on a block that is not as it was written. A user's own error(…) does
 * not begin like this. */
export function isDamagedBlock(error: unknown): boolean {
  return /^(Cannot run the query: )?(IO|Serialization|FATAL|INTERNAL) Error: .*(Corrupt|checksum|Could not read|replaying WAL|load metadata)/i
    .test(firstLine(error));
}

/** Whether DuckDB gave up a connection, over its file or over a mistake of its own. */
export function isInternal(error: unknown): boolean {
  return /^(Cannot run the query: )?(FATAL|INTERNAL|Serialization) Error:/.test(firstLine(error)) ||
    /database has been invalidated/.test(messageOf(error));
}

/** Whether what we wrote ourselves is not in the index: a table or column is gone, or of another type. */
export function isForeign(error: unknown): boolean {
  return /^(Catalog|Binder|Conversion|Constraint) Error:/.test(messageOf(error));
}

/** The sentence where the file is of a DuckDB that this one cannot read. */
export function newerFormatSentence(path: string, version: string): string {
  return `Cannot open ${path} as a newer DuckDB wrote it (storage version ${version}); open it with that DuckDB, or move the file away: pare makes it again from the journal`;
}
