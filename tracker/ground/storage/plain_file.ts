import { readFileSync, statSync } from "node:fs";
import { UsageError } from "../../../core/mod.ts";

/** What a path leads to in place of a file; undefined: to a file, or to nothing. */
function noFile(path: string): string | undefined {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined || info.isFile()) return undefined;
  return info.isDirectory() ? "a folder" : info.isFIFO() ? "a pipe" : "no plain file";
}

/**
 * Refuses what is read like a file and is none: a pipe or a device would be waited for without end.
 *
 * @throws UsageError; a path that is not there is left to whoever reads it.
 */
export function requireFile(path: string): void {
  const what = noFile(path);
  if (what === undefined) return;
  throw new UsageError(`Cannot read ${path} as it is ${what}: name a file`);
}

/**
 * The text of a file that a stranger may have made, without the mark that some editors begin it with.
 * `most`: bytes that such a file has at most, which are looked at before any is read.
 *
 * @throws Error why it cannot be had, one clause
 */
export function readText(path: string, most: number): string {
  const what = noFile(path);
  if (what !== undefined) throw new Error(`it is ${what}: name a file`);
  const { size } = statSync(path);
  if (size > most) throw new Error(`it has ${size} bytes, which is more than ${most}`);
  const bytes = readFileSync(path);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8: save it as that");
  }
}
