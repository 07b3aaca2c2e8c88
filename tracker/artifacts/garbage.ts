import { join } from "node:path";
import type { Artifact } from "../../core/mod.ts";
import { acquireLock } from "../store/file_lock.ts";
import {
  type ArtifactPaths,
  clearDead,
  MANIFEST,
  ownedName,
  ownerOf,
  readArtifact,
  remove,
} from "./artifact_files.ts";

export interface GarbageOptions {
  /** Bytes that the artifacts may take together. */
  maxBytes: number;
  /** Artifacts that must stay: front members, what a report names, what runs. */
  keep: readonly string[];
  /** Only says what it would remove. */
  dryRun?: boolean;
}

export interface GarbageReport {
  removed: { artifact_id: string; bytes: number; method: string | null }[];
  freed_bytes: number;
  /** Bytes that remain. */
  total_bytes: number;
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

/**
 * Removes artifacts until the rest fits, never one that is kept or in use by another process. What
 * is removed is made again by its key when it is asked for.
 */
export async function collectGarbage(
  paths: ArtifactPaths,
  { maxBytes, keep, dryRun = false }: GarbageOptions,
): Promise<GarbageReport> {
  using _lock = await acquireLock(paths.lock, {
    what: "the artifact store",
    wait_ms: 60_000,
    guard: paths.root,
  });
  await clearDead(paths.temporary);
  await clearDead(paths.leases);
  const stored = await storedArtifacts(paths.root);
  const kept = new Set([...keep, ...await leased(paths.leases)]);
  let total = stored.reduce((sum, { bytes }) => sum + bytes, 0);
  const before = total;
  const removed: GarbageReport["removed"] = [];
  for (const { artifact, home, bytes } of stored.sort(byUse)) {
    if (total <= maxBytes) break;
    if (kept.has(artifact.artifact_id)) continue;
    if (!dryRun) {
      const going = join(paths.temporary, ownedName(crypto.randomUUID()));
      await Deno.rename(home, going);
      await remove(going);
    }
    total -= bytes;
    const { artifact_id, action } = artifact;
    removed.push({ artifact_id, bytes, method: action?.method ?? null });
  }
  return { removed, freed_bytes: before - total, total_bytes: total, over: total > maxBytes };
}
