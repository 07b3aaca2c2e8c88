import { dirname } from "node:path";
import { isStill } from "../../../python-backends/file_lock.ts";
import { writeAll } from "../../../python-backends/whole_file.ts";
import { exists } from "../../ground/storage/set_aside.ts";

const CHUNK = 1 << 20;

/**
 * Why an open journal is not the one at its path any more, or has lost what was written; null: it is.
 * An `end` of null: its size may be any.
 */
export function journalFault(path: string, file: Deno.FsFile, end: number | null): string | null {
  if (!isStill(path, file)) {
    return exists(path) ? "another file was put in its place" : "it was removed";
  }
  const { size } = file.statSync();
  if (end === null || size >= end) return null;
  return `it was cut to ${size} bytes, of ${end} that were written`;
}

/**
 * Copies what is acknowledged out of a journal that has lost its name, beside that name; says where
 * it is. A writer has it open, so that the kernel keeps it until then.
 */
export function keepAcknowledged(path: string, file: Deno.FsFile, end: number): string {
  if (isStill(path, file)) return "stop what does that, then `pare store check` says what is there";
  try {
    const kept = copyOut(path, file, end);
    return `what was acknowledged is kept in ${kept}: move it to ${path}, then run \`pare resume\``;
  } catch (error) {
    return `what was acknowledged could not be copied beside it: ${(error as Error).message}`;
  }
}

function copyOut(path: string, file: Deno.FsFile, end: number): string {
  Deno.mkdirSync(dirname(path), { recursive: true });
  let n = 1;
  while (exists(`${path}.rescued-${n}`)) n++;
  const kept = `${path}.rescued-${n}`;
  const copy = Deno.openSync(kept, { write: true, createNew: true });
  try {
    file.seekSync(0, Deno.SeekMode.Start);
    for (let left = end; left > 0;) {
      const bytes = new Uint8Array(Math.min(CHUNK, left));
      const read = file.readSync(bytes);
      if (read === null) break;
      writeAll(copy, bytes.subarray(0, read));
      left -= read;
    }
    copy.syncSync();
    return kept;
  } finally {
    copy.close();
  }
}
