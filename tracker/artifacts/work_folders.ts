import { join } from "node:path";
import { type ArtifactPaths, ownedName, ownerOf, remove } from "./artifact_files.ts";
import { lockArtifacts } from "./lock_artifacts.ts";

/** A folder in which a long action keeps its state, found again by its key after a kill. */
export interface WorkFolder {
  readonly directory: string;
  /** Ends its use; `keep`: the action may be begun again and go on where it was. */
  release(options: { keep: boolean }): Promise<void>;
}

const label = (action_key: string): string => `work-${action_key}`;

/** Keys of actions that a living process works on, this one included. */
async function inUse(paths: ArtifactPaths): Promise<Set<string>> {
  const labels = new Set<string>();
  for await (const { name } of Deno.readDir(paths.leases)) {
    const owner = ownerOf(name);
    if (owner?.alive === true) labels.add(owner.label);
  }
  return labels;
}

/**
 * The folder of an action. Who comes second while another works on the same action gets one of its
 * own, which is not kept: two writers would spoil each other's state.
 */
export async function openWorkFolder(
  paths: ArtifactPaths,
  action_key: string,
): Promise<WorkFolder> {
  using _lock = await lockArtifacts(paths);
  if ((await inUse(paths)).has(label(action_key))) {
    const directory = join(paths.temporary, ownedName(crypto.randomUUID()));
    await Deno.mkdir(directory);
    return { directory, release: () => remove(directory) };
  }
  const directory = join(paths.work, action_key);
  const lease = join(paths.leases, ownedName(label(action_key)));
  await Deno.writeTextFile(lease, "");
  await Deno.mkdir(directory, { recursive: true });
  const now = new Date();
  await Deno.utime(directory, now, now);
  return {
    directory,
    async release({ keep }) {
      if (!keep || await isEmpty(directory)) await remove(directory);
      await remove(lease);
    },
  };
}

async function isEmpty(directory: string): Promise<boolean> {
  for await (const _ of Deno.readDir(directory)) return false;
  return true;
}

/** A working folder that nobody works in. */
export interface IdleWork {
  readonly action_key: string;
  readonly directory: string;
  readonly bytes: number;
}

/** Working folders that nobody works in, the longest unused first; the caller has the lock. */
export async function idleWork(paths: ArtifactPaths): Promise<IdleWork[]> {
  const used = await inUse(paths);
  const found: (IdleWork & { since: number })[] = [];
  for await (const { name } of Deno.readDir(paths.work)) {
    if (used.has(label(name))) continue;
    const directory = join(paths.work, name);
    const { mtime } = await Deno.stat(directory);
    const bytes = await bytesIn(directory);
    found.push({ action_key: name, directory, bytes, since: mtime?.getTime() ?? 0 });
  }
  return found.sort((a, b) => a.since - b.since || (a.action_key < b.action_key ? -1 : 1));
}

async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    bytes += isDirectory ? await bytesIn(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}
