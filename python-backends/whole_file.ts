import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { processStart } from "./process_owner.ts";

function sync(path: string): void {
  using opened = Deno.openSync(path, { read: true });
  opened.syncSync();
}

/** Waits until the names of what lies in a folder are on disk. */
export function syncFolder(folder: string): void {
  try {
    sync(folder);
  } catch {
    // A file system that syncs no folders keeps their names with the files.
  }
}

/** Writes all of it: one call may write a part, or nothing as a signal came. */
export function writeAll(file: Pick<Deno.FsFile, "writeSync">, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) {
    try {
      at += file.writeSync(bytes.subarray(at));
    } catch (error) {
      if (!(error instanceof Deno.errors.Interrupted)) throw error;
    }
  }
}

/** Makes a folder with all that it lies in, so that none of their names is lost with the power. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  Deno.mkdirSync(folder, { recursive: true });
  syncFolder(dirname(folder));
}

/** Writes a JSON document as `writeWholeText` writes a text. */
export function writeWhole(path: string, value: unknown): void {
  writeWholeText(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Nobody is at a whole file for so long; it may be of a machine that shares the folder. */
const ABANDONED_MS = 3_600_000;

/** Folders that this process has looked through: of thousands of files a look takes longer than a write. */
const looked = new Set<string>();

/** Removes what processes that were killed amid `writeWholeText` left in a folder. */
function removeAbandoned(folder: string): void {
  if (looked.has(folder)) return;
  looked.add(folder);
  try {
    for (const name of readdirSync(folder)) {
      const [, pid] = /\.partial-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
      if (pid === undefined || processStart(Number(pid)) !== null) continue;
      const path = join(folder, name);
      if (Date.now() - statSync(path).mtimeMs > ABANDONED_MS) Deno.removeSync(path);
    }
  } catch {
    // Another process removes them, too, or the folder cannot be read: they take little room.
  }
}

/**
 * Writes a file so that a reader finds the old one or the new one, never a half, also after a power cut.
 * Several may write one file at once: the last one's stays. Makes the folder where it lacks.
 */
export function writeWholeText(path: string, text: string): void {
  const folder = dirname(path);
  const partial = `${path}.partial-${Deno.pid}-${crypto.randomUUID().slice(0, 8)}`;
  makeFolder(folder);
  removeAbandoned(folder);
  try {
    Deno.writeTextFileSync(partial, text);
    sync(partial);
    Deno.renameSync(partial, path);
  } catch (error) {
    try {
      Deno.removeSync(partial);
    } catch {
      // It was not even made.
    }
    throw error;
  }
  syncFolder(folder);
}

/** What `writeWhole` wrote; null: nothing was. */
export function readWhole<T>(path: string): T | null {
  try {
    return JSON.parse(Deno.readTextFileSync(path)) as T; // our own half wrote it, whole
  } catch {
    return null;
  }
}

/**
 * Waits until all that lies in a folder is on disk: files, and the names of them. Of gigabytes that takes
 * a minute, in which what this process holds is renewed.
 */
export async function syncBelow(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncBelow(path);
    if (!entry.isFile()) continue;
    using file = await Deno.open(path, { read: true });
    await file.sync();
  }
  syncFolder(folder);
}
