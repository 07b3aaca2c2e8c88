import { join } from "node:path";
import { acquireLock } from "../../python-backends/file_lock.ts";
import { clearDead, ownedName, ownerOf, remove } from "./artifact_files.ts";

/** Where the parts of a cache of forms lie. */
export interface CachePaths {
  readonly root: string;
  readonly leases: string;
  readonly temporary: string;
  readonly lock: string;
}

/** The parts of the cache in `root`; names that begin with a dot are no kinds. */
export function cachePaths(root: string): CachePaths {
  return {
    root,
    leases: join(root, ".leases"),
    temporary: join(root, ".temporary"),
    lock: join(root, ".lock"),
  };
}

/**
 * What a runtime loads in the place of an artifact: made of it again in seconds, a graph in a minute.
 * Other kinds are what an artifact is made of.
 */
const FORMS = "forms";
/** What uncompressed models answered on training text, for methods that learn from them: computed
 * again in minutes. */
export const TEACHERS = "teachers";
/** Layers of a model in every format that was asked: made again in minutes. */
export const LAYERS = "layers";
/** What forms were kept under before: nothing loads them any more. */
const EARLIER = ["gguf", "graphs"];

export interface FormReport {
  removed: { kind: string; key: string; bytes: number }[];
  /** Bytes that remain. */
  total_bytes: number;
}

interface Form {
  kind: string;
  key: string;
  home: string;
  bytes: number;
  used: number;
}

async function bytesOf(directory: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    bytes += isDirectory ? await bytesOf(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

/** Names in a directory; none where it is not there. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function storedForms(root: string): Promise<Form[]> {
  const forms: Form[] = [];
  for (const kind of [...EARLIER, FORMS, TEACHERS, LAYERS]) {
    for (const key of await namesIn(join(root, kind))) {
      const home = join(root, kind, key);
      const { mtime } = await Deno.stat(home);
      forms.push({ kind, key, home, bytes: await bytesOf(home), used: mtime?.getTime() ?? 0 });
    }
  }
  const earlier = ({ kind }: Form) => EARLIER.includes(kind) ? 0 : 1;
  return forms.sort((a, b) =>
    earlier(a) - earlier(b) || a.used - b.used || b.bytes - a.bytes || (a.key < b.key ? -1 : 1)
  );
}

/** What the name of a lease begins with. */
export function leaseLabel(kind: string, key: string): string {
  return `${kind}-${key}`;
}

/**
 * Removes forms, the longest unused first, until the rest fits, and every one that an earlier version
 * kept; none that a living process uses. `dryRun` only says which.
 */
export async function collectForms(
  paths: CachePaths,
  maxBytes: number,
  dryRun = false,
): Promise<FormReport> {
  const { root, leases, temporary, lock } = paths;
  for (const path of [leases, temporary]) await Deno.mkdir(path, { recursive: true });
  using _lock = await acquireLock(lock, {
    what: "the cache of forms",
    wait_ms: 60_000,
    guard: root,
  });
  await clearDead(temporary);
  await clearDead(leases);
  const used = new Set((await namesIn(leases)).map((name) => ownerOf(name)?.label));
  const forms = await storedForms(root);
  let total_bytes = forms.reduce((sum, { bytes }) => sum + bytes, 0);
  const removed: FormReport["removed"] = [];
  for (const { kind, key, home, bytes } of forms) {
    if (!EARLIER.includes(kind) && total_bytes <= maxBytes) continue;
    if (used.has(leaseLabel(kind, key))) continue;
    if (!dryRun) {
      const going = join(temporary, ownedName(crypto.randomUUID()));
      await Deno.rename(home, going);
      await remove(going);
    }
    total_bytes -= bytes;
    removed.push({ kind, key, bytes });
  }
  return { removed, total_bytes };
}
