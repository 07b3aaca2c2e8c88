import type { Failure } from "../../../core/mod.ts";
import { UsageError } from "../../../core/errors.ts";

/** What of the machine keeps a file from being read or written. */
export interface StorageFault {
  readonly kind: "no_room" | "limit" | "handles" | "unwritable" | "broken";
  /** Follows "as". */
  readonly why: string;
  /** What to do. */
  readonly then: string;
}

/** Each with its codes, and its words where an error that crossed a library has no code left. */
const FAULTS: readonly (StorageFault & { codes: readonly string[]; words: RegExp })[] = [
  {
    kind: "no_room",
    codes: ["ENOSPC", "EDQUOT"],
    words: /no space left|disk quota exceeded|\bos error (28|122)\b/i,
    why: "the disk is full",
    then: "free some space, or set PARE_HOME to a larger disk",
  },
  {
    kind: "limit",
    codes: ["EFBIG"],
    words: /file too large|\bos error 27\b/i,
    why: "no file may be so large here",
    then: "raise the limit of a file's size (ulimit -f), or set PARE_HOME to a disk whose file " +
      "system takes larger files",
  },
  {
    kind: "handles",
    codes: ["EMFILE", "ENFILE"],
    words: /too many open files|\bos error (23|24)\b/i,
    why: "too many files are open",
    then: "raise the limit of open files (ulimit -n)",
  },
  {
    kind: "unwritable",
    codes: ["EROFS", "EACCES", "EPERM"],
    words: /read-only file system|permission denied|\bos error (30|13|1)\b/i,
    why: "a file or folder may not be used so",
    then: "change who may, or name another place by PARE_HOME or --store",
  },
  {
    kind: "broken",
    codes: ["EIO"],
    words: /input\/output error|i\/o error|\bos error 5\b/i,
    why: "the disk failed",
    then: "look at what the system's log says of it, or set PARE_HOME to another disk",
  },
];

/** Linux's number of EDQUOT, which Deno's node:fs names UNKNOWN. */
const QUOTA = 122;

interface Told {
  readonly code?: string;
  readonly errno?: number;
  readonly message?: string;
}

/** What of the machine an error tells of; null: it is none of its disk's. */
export function storageFault(error: unknown): StorageFault | null {
  const { code = "", errno, message = "" } = (error ?? {}) as Told;
  const known = errno === -QUOTA ? "EDQUOT" : code;
  return FAULTS.find(({ codes, words }) => codes.includes(known) || words.test(message)) ?? null;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error that a user reads: a sentence where the disk stopped it, otherwise as it came. */
export function storageError(error: unknown, attempt: string): unknown {
  const fault = error instanceof UsageError ? null : storageFault(error);
  if (fault === null || fault.kind === "unwritable") return error;
  const { kind, why, then } = fault;
  const what = kind === "no_room"
    ? `${why}; free some space (pare gc removes what can be made again) and`
    : `${why} (${messageOf(error)}); ${then}, and then`;
  return new UsageError(
    `Cannot ${attempt} as ${what} run pare resume. Nothing acknowledged is lost`,
    { cause: error },
  );
}

/** The failure to store with a trial whose files could not be written. */
export function storageFailure(error: unknown, call: string): Failure {
  const fault = storageFault(error) ?? storageFault((error as Error).cause);
  const as = fault === null ? "" : ` as ${fault.why}`;
  const message = `Cannot write the files of ${call}${as}: ${messageOf(error)}`;
  if (fault?.kind === "no_room") {
    const hint = "free some space, pass a smaller --max-disk, or run pare gc";
    return { kind: "disk_full", message, hint, phase: call };
  }
  return { kind: "crash", message, hint: fault?.then ?? null, phase: call };
}
