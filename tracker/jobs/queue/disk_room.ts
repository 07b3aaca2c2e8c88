/** Room on the disk that a store lies on: how much there is, and how more of it is made. */
import { existsSync, statfsSync } from "node:fs";
import { resolve } from "node:path";
import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { openFolderCache } from "../../artifacts/folder_cache.ts";
import { makeRoom } from "../../artifacts/make_room.ts";
import type { Home } from "../../ground/home.ts";
import { artifactClaims } from "../../lab/kept_artifacts.ts";

/** Bytes that a study begins with no less than, and is stopped below. */
export const LEAST_BYTES = 1e9;

/** What is seen, as a checklist and an action say it. */
export const NEARLY_FULL = "disk nearly full";

export function freeBytes(store: string): number {
  const { bavail, bsize } = statfsSync(existsSync(store) ? store : resolve(store, ".."));
  return bavail * bsize;
}

/** Removes as much of what `pare gc` may take as is wanted; gives the bytes that went. */
export async function collectRoom({ artifacts: root, cache, store }: Home, wanted: number) {
  using artifacts = await openArtifactStore(root);
  const caches = openFolderCache(cache);
  const all = { maxBytes: Infinity, keep: [], dryRun: true };
  const there = await makeRoom({ artifacts, caches }, all);
  const before = there.artifacts.total_bytes + there.forms.total_bytes;
  const ask = () => artifactClaims(artifacts, [store]);
  const limits = { maxBytes: Math.max(0, before - wanted), keep: [], ask };
  const after = await makeRoom({ artifacts, caches }, limits);
  return before - after.artifacts.total_bytes - after.forms.total_bytes;
}
