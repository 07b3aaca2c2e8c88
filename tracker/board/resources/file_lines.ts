import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { sha256File } from "../../ground/storage/file_hash.ts";

const NEWLINE = 10;
const CHUNK = 1 << 20;
/** A line that is longer is no sample that a page could show. */
const LONGEST = 1 << 20;

/** Lines of a file by their number from 0; the file is read once, no further than the last of them. */
export async function linesAt(
  file: string,
  numbers: ReadonlySet<number>,
): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  const last = Math.max(-1, ...numbers);
  let [line, held, parts] = [0, 0, [] as Uint8Array[]];
  const end = () => {
    if (numbers.has(line) && held <= LONGEST) found.set(line, decode(parts));
    [line, held, parts] = [line + 1, 0, []];
  };
  if (last < 0) return found;
  const keep = (part: Uint8Array) => {
    if (!numbers.has(line) || part.length === 0) return;
    held += part.length;
    if (held <= LONGEST) parts.push(part);
  };
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK })) {
    const bytes = chunk as Uint8Array;
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      keep(bytes.subarray(from, at));
      end();
      from = at + 1;
      if (line > last) return found;
    }
    keep(bytes.subarray(from));
  }
  end();
  return found;
}

function decode(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
}

/** Hashes of files that did not change since they were computed. */
const known = new Map<string, { readonly stamp: string; readonly sha256: string }>();

/** A file's hash, computed anew where its size or its time is another one. */
export async function knownHash(file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const stamp = `${size} ${mtimeMs}`;
  const found = known.get(file);
  if (found?.stamp === stamp) return found.sha256;
  const sha256 = await sha256File(file);
  known.set(file, { stamp, sha256 });
  return sha256;
}
