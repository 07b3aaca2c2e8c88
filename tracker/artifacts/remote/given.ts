/**
 * Models and datasets that a study names by a path, for machines that lack them: their files lie in the object
 * store as an artifact's do, and what says so is named by the path, which is the same everywhere.
 */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { FileChecksum, UsageError } from "../../../core/mod.ts";
import { withFileLock } from "../../../python-backends/file_lock.ts";
import { fromUser } from "../../../python-backends/home.ts";
import { syncBelow, syncFolder } from "../../../python-backends/whole_file.ts";
import { sha256Text } from "../../ground/storage/file_hash.ts";
import { Chunks, isInside, MANIFEST_BYTES, names } from "./manifest.ts";
import type { ObjectStore } from "./object_store.ts";
import { whileSending } from "./sending.ts";
import { json, pullFile, pushFile } from "./transfer.ts";

const Given = z.strictObject({
  version: z.literal(1),
  path: z.string().describe("where it lies"),
  kind: z.enum(["file", "folder"]),
  files: z.array(FileChecksum).min(1),
  chunks: Chunks,
});
export type Given = z.infer<typeof Given>;

/** By which a home's use of what lies at a path is told. */
export const givenId = (path: string): string => sha256Text(path);
export const nameOf = (path: string): string => `given/${givenId(path)}.json`;

/** Whether a name is surely meant as a path: one that is not may be a name of the hub or a set. */
export function isPath(name: string): boolean {
  return /^([/~]|\.{1,2}\/)|\.(gguf|jsonl?|ya?ml|csv|parquet)$/.test(name);
}

/** Where those lie that are meant as paths. */
export function pathsNamed(named: readonly string[]): string[] {
  return named.filter(isPath).map((name) => resolve(fromUser(name)));
}

/** Reads what somebody wrote there; nothing of it is taken on trust. */
function parsed(bytes: Uint8Array, name: string, where: string): Given {
  let document: unknown = null;
  try {
    document = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // No JSON is no document of ours either.
  }
  const read = Given.safeParse(document).data;
  const whole = read !== undefined && nameOf(read.path) === name &&
    (read.kind === "folder" || read.files.length === 1) &&
    read.files.every(({ path }) => isInside(path));
  if (whole) return read;
  throw new UsageError(`Cannot use ${name} of ${where} as it is damaged: delete it there`);
}

async function readOne(objects: ObjectStore, name: string): Promise<Given | null> {
  const bytes = await objects.get(name, MANIFEST_BYTES);
  return bytes === null ? null : parsed(bytes, name, objects.address);
}

/** All that were sent. */
export async function readGiven(objects: ObjectStore): Promise<Given[]> {
  const found: Given[] = [];
  for (const name of await objects.list("given/")) {
    const one = await readOne(objects, name);
    if (one !== null) found.push(one);
  }
  return found;
}

/** What a store keeps of a user's files: their checksums, read whole only once. */
type ChecksumsOf = (directory: string, names?: readonly string[]) => Promise<FileChecksum[]>;

/** Sends the file or folder at a path where it was not sent as it is now; gives the bytes that were sent. */
export async function sendGiven(
  objects: ObjectStore,
  path: string,
  checksumsOf: ChecksumsOf,
): Promise<number> {
  const isFile = statSync(path).isFile();
  const folder = isFile ? dirname(path) : path;
  const files = await checksumsOf(folder, isFile ? [basename(path)] : undefined);
  const there = await readOne(objects, nameOf(path)).catch(() => null); // a damaged one is written anew
  if (JSON.stringify(there?.files) === JSON.stringify(files)) return 0;
  return await whileSending(objects, async () => {
    const chunks: Given["chunks"] = {};
    let sent = 0;
    for (const file of files) {
      const pushed = await pushFile(objects, join(folder, file.path), file.sha256);
      chunks[file.path] = pushed.chunks;
      sent += pushed.sent;
    }
    const kind = isFile ? "file" as const : "folder" as const;
    await objects.put(nameOf(path), json({ version: 1, path, kind, files, chunks }));
    return sent;
  });
}

/** Removes what an earlier try fetched of other files: a model is loaded by all that lies in its folder. */
function removeOthers(folder: string, { files }: Given): void {
  const own = new Set(files.map(({ path }) => join(folder, path)));
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !own.has(path)) rmSync(path);
  }
}

/** Fetches what was sent of a path to that path; null: nothing was. One at a time fetches, and goes on. */
export async function fetchGiven(objects: ObjectStore, path: string): Promise<number | null> {
  const given = await readOne(objects, nameOf(path));
  if (given === null) return null;
  const partial = `${path}.being-fetched`;
  return await withFileLock(`${partial}.lock`, {}, async () => {
    if (existsSync(path)) return 0; // another one has fetched it meanwhile
    let fetched = 0;
    for (const { path: name, sha256 } of given.files) {
      await mkdir(dirname(join(partial, name)), { recursive: true });
      const pulled = await pullFile(objects, join(partial, name), given.chunks[name] ?? []);
      if (pulled.hash !== sha256) {
        throw new UsageError(
          `Cannot fetch ${path} from ${objects.address}: the parts of ${name} are those of another file`,
        );
      }
      fetched += pulled.sent;
    }
    removeOthers(partial, given);
    await syncBelow(partial); // a name without its bytes would be taken for the model after a power cut
    const [only] = given.files;
    await rename(given.kind === "file" ? join(partial, only!.path) : partial, path);
    syncFolder(dirname(path));
    await rm(partial, { recursive: true, force: true });
    return fetched;
  });
}

/**
 * Of what a study names: what lies here is sent, what does not is fetched to where it is named. Where the
 * store does not answer, the study itself says what it lacks.
 */
export async function shareGiven(
  objects: ObjectStore,
  named: readonly string[],
  { checksumsOf, home, note }: {
    readonly checksumsOf: ChecksumsOf;
    /** Who uses it from now on. */
    readonly home: string;
    readonly note: (line: string) => void;
  },
): Promise<void> {
  for (const path of pathsNamed(named)) {
    const use = names.use(givenId(path), home);
    try {
      await objects.put(use, new Uint8Array()); // before: what is used is not removed meanwhile
      if (existsSync(path)) await sendGiven(objects, path, checksumsOf);
      else {
        const fetched = await fetchGiven(objects, path);
        if (fetched === null) await objects.remove(use);
        else if (fetched > 0) note(`${path} was fetched from ${objects.address}`);
      }
    } catch (error) {
      note(error instanceof Error ? error.message : String(error));
    }
  }
}
