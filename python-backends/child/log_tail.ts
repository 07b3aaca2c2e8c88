import { closeSync, openSync, readSync, statSync } from "node:fs";

/** A bar as libraries draw it, over and over in one line: `Loading weights:  50%|█████     | 10/20`. */
const BAR = /\d%\|/;

/** The last lines of a log, at most 4 KB, but for bars of progress; empty where there are none. */
export function logTail(path: string, lines = 8): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    const size = statSync(path).size;
    const buffer = new Uint8Array(Math.min(4096, size));
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
    const text = new TextDecoder().decode(buffer);
    const said = text.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !BAR.test(line));
    return said.slice(-lines).join("\n");
  } finally {
    closeSync(file);
  }
}
