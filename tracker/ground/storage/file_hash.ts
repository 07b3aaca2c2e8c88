import { createHash } from "node:crypto";
import { join, relative } from "node:path";
import type { FileChecksum } from "../../../core/mod.ts";

const CHUNK = 4 << 20;

/** SHA-256 of a file, read in pieces; `sync` also waits until the file is on disk. */
export async function sha256File(
  path: string,
  { sync = false }: { sync?: boolean } = {},
): Promise<string> {
  const hash = createHash("sha256");
  const file = await Deno.open(path, { read: true, write: sync });
  try {
    const chunk = new Uint8Array(CHUNK);
    for (let read = await file.read(chunk); read !== null; read = await file.read(chunk)) {
      hash.update(chunk.subarray(0, read));
    }
    if (sync) await file.syncData();
  } finally {
    file.close();
  }
  return hash.digest("hex");
}

/** SHA-256 of a text. */
export function sha256Text(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * Regular files below a directory, relative and sorted; links to files count as files. What begins
 * with a dot is passed over where `hidden` is false.
 */
export async function listFiles(root: string, { hidden = true } = {}): Promise<string[]> {
  const found: string[] = [];
  const walk = async (directory: string): Promise<void> => {
    for await (const entry of Deno.readDir(directory)) {
      if (!hidden && entry.name.startsWith(".")) continue;
      const path = join(directory, entry.name);
      // A hub's cache holds links to blobs: what a link leads to decides.
      const info = entry.isSymlink ? await Deno.stat(path) : entry;
      if (info.isDirectory && !entry.isSymlink) await walk(path);
      else if (info.isFile) found.push(relative(root, path));
    }
  };
  await walk(root);
  return found.sort();
}

/** Refuses a directory that holds a link: what it leads to can change, or lie outside. */
export async function requireNoLinks(root: string): Promise<void> {
  for await (const entry of Deno.readDir(root)) {
    const path = join(root, entry.name);
    if (entry.isSymlink) {
      throw new Error(
        `Cannot keep ${path} in an artifact as it is a link to ${await Deno.readLink(
          path,
        )}; write the file itself`,
      );
    }
    if (entry.isDirectory) await requireNoLinks(path);
  }
}

/** Checksums of every file below a directory, but for those named in `except`. */
export async function checksums(
  root: string,
  { except = [], sync = false }: { except?: readonly string[]; sync?: boolean } = {},
): Promise<FileChecksum[]> {
  const files: FileChecksum[] = [];
  for (const path of await listFiles(root)) {
    if (except.includes(path)) continue;
    const { size } = await Deno.stat(join(root, path));
    files.push({ path, bytes: size, sha256: await sha256File(join(root, path), { sync }) });
  }
  return files;
}
