import { statfsSync } from "node:fs";
import { join } from "node:path";
import { exists } from "../../ground/storage/set_aside.ts";

/** Where this process puts what a query holds beyond memory: beside the index, not in a /tmp that is memory. */
export function spillFolder(root: string, pid = Deno.pid): string {
  return join(root, `spill-${pid}`);
}

/** Bytes that a query may put on disk: half of what is free, so that a study can go on. */
export function spillBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return Math.floor(bavail * bsize / 2);
}

/** Removes what a process that was ended left there. */
export function removeSpill(root: string, pid: number): void {
  const folder = spillFolder(root, pid);
  if (exists(folder)) Deno.removeSync(folder, { recursive: true });
}
