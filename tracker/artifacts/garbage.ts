import { join } from "node:path";
import type { Artifact } from "../../core/mod.ts";
import {
  type ArtifactPaths,
  clearDead,
  MANIFEST,
  ownedName,
  ownerOf,
  readArtifact,
  remove,
} from "./artifact_files.ts";
import { lockArtifacts } from "./lock_artifacts.ts";
import { idleWork } from "./work_folders.ts";

/** What stores say of artifacts. */
export interface ArtifactClaims {
  /** Those that stay. */
  readonly keep: ReadonlySet<string>;
  /** Those that a store names: of another one nobody knows whether it may go. */
  readonly known: ReadonlySet<string>;
  /** Stores that cannot say what stays, and why: all that they used is kept. */
  readonly unsure: readonly { store: string; reason: string }[];
}

export interface GarbageOptions {
  /** Bytes that the artifacts may take together. */
  maxBytes: number;
  /** Artifacts that must stay for this process: what it works on. */
  keep: readonly string[];
  /** Asks the stores, while nobody can begin to use an artifact; absent: there are none. */
  ask?: () => Promise<ArtifactClaims>;
  /** Whether what no store names may go. */
  unclaimed?: boolean;
  /** Only says what it would remove. */
  dryRun?: boolean;
}

export interface GarbageReport {
  removed: { artifact_id: string; bytes: number; method: string | null }[];
  /** What actions that were killed had left behind: they begin anew. */
  removed_work: { action_key: string; bytes: number }[];
  freed_bytes: number;
  /** Bytes that remain. */
  total_bytes: number;
  /** What stays as no store is known that names it. */
  unclaimed: { artifacts: number; bytes: number };
  unsure: ArtifactClaims["unsure"];
  /** True where what must stay is more than `maxBytes` already. */
  over: boolean;
}

interface Stored {
  artifact: Artifact;
  home: string;
  bytes: number;
  used: number;
}

async function storedArtifacts(root: string): Promise<Stored[]> {
  const stored: Stored[] = [];
  for await (const entry of Deno.readDir(root)) {
    if (!entry.isDirectory || !/^[0-9a-f]{16}$/.test(entry.name)) continue;
    const home = join(root, entry.name);
    const artifact = await readArtifact(join(home, MANIFEST), home);
    if (artifact === null || artifact.location !== home) continue; // a user's own: not ours to remove
    const bytes = artifact.files.reduce((sum, file) => sum + file.bytes, 0);
    const { mtime } = await Deno.stat(join(home, MANIFEST));
    stored.push({ artifact, home, bytes, used: mtime?.getTime() ?? 0 });
  }
  return stored;
}

async function leased(directory: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const entry of Deno.readDir(directory)) {
    const owner = ownerOf(entry.name);
    // This process's own claims do not count: it says itself what must stay.
    if (owner?.alive === true && entry.name !== ownedName(owner.label)) ids.add(owner.label);
  }
  return ids;
}

/** Least useful first: what one action can make again before an import, the longest unused first. */
function byUse(a: Stored, b: Stored): number {
  const imported = (one: Stored): number => one.artifact.parent_id === null ? 1 : 0;
  return imported(a) - imported(b) || a.used - b.used || b.bytes - a.bytes ||
    (a.artifact.artifact_id < b.artifact.artifact_id ? -1 : 1);
}

/** What may go, least useful first, and what stays only as no store names it. */
async function removable(
  paths: ArtifactPaths,
  stored: readonly Stored[],
  { keep, ask, unclaimed = false }: GarbageOptions,
) {
  const claims = await ask?.();
  const kept = new Set([...keep, ...claims?.keep ?? [], ...await leased(paths.leases)]);
  // A setting is of no use without its weights.
  for (const { artifact: { artifact_id, weights_id } } of stored) {
    if (weights_id !== undefined && kept.has(artifact_id)) kept.add(weights_id);
  }
  const free = stored.filter(({ artifact }) => !kept.has(artifact.artifact_id));
  const named = free.filter(({ artifact }) =>
    claims === undefined || unclaimed || claims.known.has(artifact.artifact_id)
  );
  const rest = free.filter((one) => !named.includes(one));
  return {
    going: named.sort(byUse),
    unclaimed: { artifacts: rest.length, bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0) },
    unsure: claims?.unsure ?? [],
  };
}

/**
 * Removes what killed actions left, then artifacts, until the rest fits, never one that is kept or in
 * use by another process. What is removed is made again by its key when it is asked for.
 */
export async function collectGarbage(
  paths: ArtifactPaths,
  options: GarbageOptions,
): Promise<GarbageReport> {
  const { maxBytes, dryRun = false } = options;
  const gone: string[] = [];
  const report = await (async (): Promise<GarbageReport> => {
    using _lock = await lockArtifacts(paths);
    await clearDead(paths.temporary);
    await clearDead(paths.leases);
    const stored = await storedArtifacts(paths.root);
    const { going, unclaimed, unsure } = await removable(paths, stored, options);
    const work = await idleWork(paths);
    let total = [...stored, ...work].reduce((sum, { bytes }) => sum + bytes, 0);
    const before = total;
    const removed_work: GarbageReport["removed_work"] = [];
    for (const { action_key, directory, bytes } of work) {
      if (total <= maxBytes) break;
      if (!dryRun) await remove(directory);
      total -= bytes;
      removed_work.push({ action_key, bytes });
    }
    const removed: GarbageReport["removed"] = [];
    for (const { artifact, home, bytes } of going) {
      if (total <= maxBytes) break;
      if (!dryRun) {
        const aside = join(paths.temporary, ownedName(crypto.randomUUID()));
        await Deno.rename(home, aside);
        gone.push(aside);
      }
      total -= bytes;
      const { artifact_id, action } = artifact;
      removed.push({ artifact_id, bytes, method: action?.method ?? null });
    }
    const freed_bytes = before - total;
    const over = total > maxBytes;
    return { removed, removed_work, freed_bytes, total_bytes: total, unclaimed, unsure, over };
  })();
  for (const path of gone) await remove(path); // takes a while, and nobody has to wait for it
  return report;
}
