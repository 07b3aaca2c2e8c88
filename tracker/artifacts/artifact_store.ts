import { dirname, join, relative, resolve } from "node:path";
import { type Artifact, type FileChecksum, UsageError } from "../../core/mod.ts";
import {
  artifactId,
  type ArtifactPaths,
  artifactPaths,
  clearDead,
  isComplete,
  MANIFEST,
  ownedName,
  readArtifact,
  readSetting,
  remove,
  weightBytes,
} from "./artifact_files.ts";
import { makeFolder, syncFolder, writeWhole } from "../../python-backends/whole_file.ts";
import { checksums, requireNoLinks, sha256File } from "../ground/storage/file_hash.ts";
import { type Claimant, claimants, forgetClaims, openClaims } from "./claims.ts";
import { collectGarbage, type GarbageOptions, type GarbageReport } from "./garbage.ts";
import { hashExternal } from "./external_hash.ts";
import { lockArtifacts } from "./lock_artifacts.ts";
import { openWorkFolder, type WorkFolder } from "./work_folders.ts";

/** What is known of an artifact besides its files. */
export type ArtifactMeta = Omit<
  Artifact,
  "artifact_id" | "location" | "files" | "size_bytes" | "weights_id"
>;

export interface ArtifactStore {
  readonly root: string;
  /** The artifact that these inputs made earlier, whole on disk; null: it must be made. */
  find(action_key: string): Promise<Artifact | null>;
  get(artifact_id: string): Promise<Artifact | null>;
  /** The artifact that holds an artifact's weights: itself, of a setting another; null: it is gone. */
  weightsOf(artifact: Artifact): Promise<Artifact | null>;
  list(): Promise<Artifact[]>;
  /** An empty directory on the store's file system for a worker to write into. */
  begin(): Promise<string>;
  /** Where the action of this key keeps its state while it works. */
  workFolder(action_key: string): Promise<WorkFolder>;
  /** Takes a written directory over under its content's name. The directory is gone then. */
  commit(directory: string, meta: ArtifactMeta): Promise<Artifact>;
  /** Removes a directory that `begin` gave. */
  discard(directory: string): Promise<void>;
  /** A model directory of the user's: it stays where it is and is never removed. */
  adopt(directory: string, meta: ArtifactMeta): Promise<Artifact>;
  /** Checksums of a folder of the user's, or of files in it, read whole only once. */
  checksums(directory: string, names?: readonly string[]): Promise<FileChecksum[]>;
  /** What is wrong with an artifact's files against their checksums; empty: nothing. */
  verifyChecksums(artifact: Artifact): Promise<string[]>;
  gc(options: GarbageOptions): Promise<GarbageReport>;
  /** Every store that has used artifacts from here. */
  claimants(): Claimant[];
  /** Forgets a store: what only it used may go. False: it is not known. */
  forget(store: string): boolean;
  /** Gives back the claims on the artifacts that this process uses. */
  close(): void;
  [Symbol.dispose](): void;
}

async function verify(artifact: Artifact): Promise<string[]> {
  const problems: string[] = [];
  for (const { path, bytes, sha256 } of artifact.files) {
    const file = join(artifact.location, path);
    try {
      const { size } = await Deno.stat(file);
      if (size !== bytes) problems.push(`${file} has ${size} bytes: ${bytes} were written`);
      else if (await sha256File(file) !== sha256) problems.push(`${file} has another checksum`);
    } catch (error) {
      problems.push(`${file} cannot be read: ${(error as Error).message}`);
    }
  }
  return problems;
}

/** Moves a whole directory to its name, or drops it where a whole one has it; under the lock. */
async function place(
  paths: ArtifactPaths,
  directory: string,
  artifact: Artifact,
): Promise<Artifact> {
  const home = join(paths.root, artifact.artifact_id);
  const there = await readArtifact(join(home, MANIFEST), home);
  if (there !== null && await isComplete(there)) {
    await remove(directory);
  } else {
    await remove(home);
    await Deno.rename(directory, home);
    syncFolder(paths.root);
  }
  writeWhole(join(paths.keys, `${artifact.action_key}.json`), artifact);
  return { ...artifact, location: home };
}

/** An open store. */
interface Opened {
  readonly paths: ArtifactPaths;
  /** The leases of this process. */
  readonly claimed: Set<string>;
  /** Of the store that the artifacts are used for; null: of none. */
  readonly claims: ReturnType<typeof openClaims> | null;
}

/**
 * Opens the content-addressed artifacts below a directory, making it where it is missing. What is
 * found, made or adopted is written down for the store at `store`, so that no other one's gc takes it.
 */
export async function openArtifactStore(
  directory: string,
  { store }: { store?: string } = {},
): Promise<ArtifactStore> {
  const paths = artifactPaths(resolve(directory));
  for (
    const path of [paths.root, paths.keys, paths.leases, paths.stores, paths.temporary, paths.work]
  ) makeFolder(path);
  await clearDead(paths.temporary);
  await clearDead(paths.leases);
  const claims = store === undefined ? null : openClaims(paths.stores, store);
  const opened: Opened = { paths, claimed: new Set(), claims };
  return {
    root: paths.root,
    find: (action_key) => find(opened, action_key),
    get: (id) => get(opened, id),
    weightsOf: (artifact) => weightsOf(opened, artifact),
    list: () => list(paths.root),
    async begin() {
      const path = join(paths.temporary, ownedName(crypto.randomUUID()));
      await Deno.mkdir(path);
      return path;
    },
    workFolder: (action_key) => openWorkFolder(paths, action_key),
    commit: (written, meta) => commit(opened, written, meta),
    discard: remove,
    adopt: (there, meta) => adopt(opened, there, meta),
    checksums: (there, names) => hashExternal(paths, there, names),
    verifyChecksums: (artifact) => verifyWhole(opened, artifact),
    gc: (options) => collectGarbage(paths, options),
    claimants: () => claimants(paths.stores),
    forget: (one) => forgetClaims(paths.stores, one),
    close: () => giveBack(opened),
    [Symbol.dispose]: () => giveBack(opened),
  };
}

/** From now on gc leaves the artifact alone; its time of use is now. The caller has the lock. */
async function claim({ paths, claimed, claims }: Opened, artifact: Artifact): Promise<Artifact> {
  const lease = join(paths.leases, ownedName(artifact.artifact_id));
  await Deno.writeTextFile(lease, "");
  claimed.add(lease);
  claims?.add(artifact.artifact_id);
  const now = new Date();
  await Deno.utime(join(paths.root, artifact.artifact_id, MANIFEST), now, now);
  return artifact;
}

async function get(opened: Opened, id: string): Promise<Artifact | null> {
  if (!/^[0-9a-f]{16}$/.test(id)) return null;
  const { paths } = opened;
  const home = join(paths.root, id);
  using _lock = await lockArtifacts(paths); // gc could take what is found here
  const artifact = await readArtifact(join(home, MANIFEST), home);
  if (artifact === null || !await isComplete(artifact)) return null;
  if (artifact.weights_id !== undefined) {
    const there = join(paths.root, artifact.weights_id);
    const weights = await readArtifact(join(there, MANIFEST), there);
    if (weights === null || !await isComplete(weights)) return null; // of no use without them
    await claim(opened, weights);
  }
  return await claim(opened, artifact);
}

async function weightsOf(opened: Opened, artifact: Artifact): Promise<Artifact | null> {
  return artifact.weights_id === undefined ? artifact : await get(opened, artifact.weights_id);
}

/** A setting's weights, which its file names: those of its parent, whole and here. */
async function weightsNamed(opened: Opened, directory: string, parent_id: string | null) {
  const setting = await readSetting(directory);
  if (setting === null) return null;
  const weights = setting.weights === parent_id ? await get(opened, setting.weights) : null;
  if (weights !== null && weights.weights_id === undefined) return weights;
  throw new Error(
    `Cannot keep ${directory} as a setting: its weights must be those of its parent ` +
      `${parent_id}, whole and here, and it names ${setting.weights}`,
  );
}

async function find(opened: Opened, action_key: string): Promise<Artifact | null> {
  if (!/^[0-9a-f]{64}$/.test(action_key)) {
    throw new UsageError(
      `Cannot look for an artifact as its key is not a SHA-256: ${action_key}`,
    );
  }
  const named = await readArtifact(join(opened.paths.keys, `${action_key}.json`), null);
  const found = named === null ? null : await get(opened, named.artifact_id);
  // The lineage is that of this key, also where other inputs made the same bytes first.
  return found === null ? null : { ...named!, location: found.location };
}

/** The names in a folder below another one, and those of the folders between the two. */
function syncFolders(above: string, below: string): void {
  for (let at = below; at !== "."; at = dirname(at)) syncFolder(join(above, at));
}

async function commit(opened: Opened, directory: string, meta: ArtifactMeta): Promise<Artifact> {
  await requireNoLinks(directory);
  const files = await checksums(directory, { except: [MANIFEST], sync: true });
  // Names, too: that of the artifact's own folder by the manifest, that of all of it by its place.
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
    syncFolders(directory, folder);
  }
  if (files.length === 0) throw new Error(`Cannot keep ${directory} as an artifact: it is empty`);
  const artifact_id = artifactId(files);
  const weights = await weightsNamed(opened, directory, meta.parent_id);
  const own = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const sized = weights === null
    ? { size_bytes: weightBytes(files) }
    : { size_bytes: weights.size_bytes + own, weights_id: weights.artifact_id };
  const artifact: Artifact = { ...meta, ...sized, artifact_id, files, location: "." };
  writeWhole(join(directory, MANIFEST), artifact);
  using _lock = await lockArtifacts(opened.paths);
  return await claim(opened, await place(opened.paths, directory, artifact));
}

/** A user's own folder by its path; one beside the artifacts by the way there, as both move together. */
function seenFrom(home: string, { root }: ArtifactPaths, location: string): string {
  const inside = !/^\.\.(\/|$)/.test(relative(dirname(root), location));
  return inside ? relative(home, location) : location;
}

async function adopt(opened: Opened, directory: string, meta: ArtifactMeta): Promise<Artifact> {
  const { paths } = opened;
  const location = await Deno.realPath(directory);
  const files = await hashExternal(paths, location);
  const artifact_id = artifactId(files);
  const artifact = { ...meta, artifact_id, files, size_bytes: weightBytes(files), location };
  const same = await get(opened, artifact_id); // a copy of one of ours has the same bytes
  const home = join(paths.root, artifact_id);
  const own = same?.location === home;
  using _lock = await lockArtifacts(paths);
  if (!own) {
    writeWhole(join(home, MANIFEST), {
      ...artifact,
      location: seenFrom(home, paths, location),
    });
  }
  writeWhole(join(paths.keys, `${meta.action_key}.json`), artifact);
  return await claim(opened, own ? { ...artifact, location: home } : artifact);
}

async function list(root: string): Promise<Artifact[]> {
  const artifacts: Artifact[] = [];
  for await (const entry of Deno.readDir(root)) {
    const home = join(root, entry.name);
    if (!entry.isDirectory || !/^[0-9a-f]{16}$/.test(entry.name)) continue;
    const artifact = await readArtifact(join(home, MANIFEST), home);
    if (artifact !== null) artifacts.push(artifact);
  }
  return artifacts.sort((a, b) => a.created_at < b.created_at ? -1 : 1);
}

/** The problems of an artifact, and those of the weights that it is a setting of. */
async function verifyWhole(opened: Opened, artifact: Artifact): Promise<string[]> {
  const own = await verify(artifact);
  if (artifact.weights_id === undefined) return own;
  const weights = await weightsOf(opened, artifact);
  return weights === null
    ? [...own, `the weights ${artifact.weights_id} of ${artifact.location} are gone or cut`]
    : [...own, ...await verify(weights)];
}

function giveBack({ claimed }: Opened): void {
  for (const lease of claimed) {
    try {
      Deno.removeSync(lease);
    } catch {
      // Another store of this process has given it back.
    }
  }
  claimed.clear();
}
