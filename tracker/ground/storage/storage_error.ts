import type { Failure } from "../../../core/mod.ts";
import { UsageError } from "../../../core/errors.ts";

const FULL = ["ENOSPC", "EDQUOT", "EFBIG"];

/** True where the disk, the quota or the file-size limit is what stopped a write. */
export function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return FULL.includes(code ?? "") ||
    /No space left|Disk quota exceeded|File too large|os error (28|122|27)\b/.test(message ?? "");
}

const UNWRITABLE = ["EROFS", "EACCES", "EPERM"];

/** True where the file system or its permissions are what stopped a write. */
export function isUnwritable(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return UNWRITABLE.includes(code ?? "") ||
    /Read-only file system|Permission denied|\bos error (30|13|1)\b/.test(message ?? "");
}

/** The error that a user reads: a sentence where the disk is full, otherwise as it came. */
export function storageError(error: unknown, attempt: string): unknown {
  if (!isDiskFull(error)) return error;
  return new UsageError(
    `Cannot ${attempt} as the disk is full; free some space (pare gc removes what can be made again) and run pare resume. Nothing acknowledged is lost`,
    { cause: error },
  );
}

/** The failure to store with a trial whose files could not be written. */
export function storageFailure(error: unknown, call: string): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (isDiskFull(error) || isDiskFull((error as Error).cause ?? {})) {
    return {
      kind: "disk_full",
      message: `Cannot write the files of ${call} as the disk is full: ${message}`,
      hint: "free some space, pass a smaller --max-disk, or run pare gc",
      phase: call,
    };
  }
  return {
    kind: "crash",
    message: `Cannot write the files of ${call}: ${message}`,
    hint: null,
    phase: call,
  };
}
