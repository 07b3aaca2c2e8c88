import { statSync } from "node:fs";
import { UsageError } from "../../../core/mod.ts";

/**
 * Refuses what is read like a file and is none: a pipe or a device would be waited for without end.
 *
 * @throws UsageError; a path that is not there is left to whoever reads it.
 */
export function requireFile(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined || info.isFile()) return;
  const what = info.isDirectory() ? "a folder" : info.isFIFO() ? "a pipe" : "no plain file";
  throw new UsageError(`Cannot read ${path} as it is ${what}: name a file`);
}
