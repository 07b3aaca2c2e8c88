import { basename, join, resolve } from "node:path";
import { Artifact, type FileChecksum, Setting } from "../../core/mod.ts";
import { isAlive, thisProcess } from "../../python-backends/process_owner.ts";
import { canonicalJson } from "./action_key.ts";
import { sha256Text } from "../ground/storage/file_hash.ts";

/** Where the parts of an artifact store lie. */
export interface ArtifactPaths {
  root: string;
  keys: string;
  leases: string;
  /** What each store has used, a file a store. */
  stores: string;
  temporary: string;
  /** What actions that take long keep of their state, a folder per action's key. */
  work: string;
  lock: string;
  hashes: string;
}

export const MANIFEST = "manifest.json";

/** The parts of the artifact store in `root`; names that begin with a dot are no artifacts. */
export function artifactPaths(root: string): ArtifactPaths {
  return {
    root,
    keys: join(root, "keys"),
    leases: join(root, ".leases"),
    stores: join(root, ".stores"),
    temporary: join(root, ".temporary"),
    work: join(root, ".work"),
    lock: join(root, ".lock"),
    hashes: join(root, ".hashes.json"),
  };
}

/** The identity of a set of files: SHA-256 over their checksums, 16 hexadecimal digits. */
export function artifactId(files: readonly FileChecksum[]): string {
  return sha256Text(canonicalJson(files)).slice(0, 16);
}

/** Bytes of the weight files among them. */
export function weightBytes(files: readonly FileChecksum[]): number {
  return files.filter(({ path }) => /\.(safetensors|gguf|bin)$/.test(path))
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Of an artifact that is a setting: the file that holds it. */
export const SETTING = "pare_setting.json";

/** The setting that a directory holds; null: it holds none. Throws where it is not whole. */
export async function readSetting(directory: string): Promise<Setting | null> {
  const path = join(directory, SETTING);
  try {
    return Setting.parse(JSON.parse(await Deno.readTextFile(path)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new Error(`Cannot keep ${path} as a setting: ${(error as Error).message}`);
  }
}

/** Removes a file or directory; one that is gone already is fine. */
export async function remove(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The artifact that a manifest or key file describes, `here` being its own directory; null: none. */
export async function readArtifact(path: string, here: string | null): Promise<Artifact | null> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  try {
    const artifact = Artifact.parse(JSON.parse(text));
    const id = artifactId(artifact.files);
    // A flipped bit of what says which bytes it is: as good as no document.
    if (artifact.artifact_id !== id || here !== null && basename(here) !== id) return null;
    return here === null ? artifact : { ...artifact, location: resolve(here, artifact.location) };
  } catch {
    return null; // half of a document, or one of another form: made again
  }
}

/** Whether every file is there with its size: a cheap look, not a checksum. */
export async function isComplete(artifact: Artifact): Promise<boolean> {
  for (const { path, bytes } of artifact.files) {
    try {
      if ((await Deno.stat(join(artifact.location, path))).size !== bytes) return false;
    } catch {
      return false;
    }
  }
  return true;
}

/** A name that says which process made something, so that it can be cleared when that one died. */
export function ownedName(label: string): string {
  const { pid, start } = thisProcess();
  return `${label}.${pid}.${start}`;
}

/** The label of an owned name, where the process lives; null where it died. */
export function ownerOf(name: string): { label: string; alive: boolean } | null {
  const match = /^(.*)\.(\d+)\.(\d*)$/.exec(name);
  if (match === null) return null;
  const owner = { pid: Number(match[2]), start: match[3] ?? "" };
  return { label: match[1] ?? "", alive: isAlive(owner) };
}

/** Removes what processes that died left in a directory. */
export async function clearDead(directory: string): Promise<void> {
  for await (const entry of Deno.readDir(directory)) {
    if (ownerOf(entry.name)?.alive === false) await remove(join(directory, entry.name));
  }
}
