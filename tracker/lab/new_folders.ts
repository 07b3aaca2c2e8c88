import { existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../ground/home.ts";
import { tryLock } from "../ground/storage/file_lock.ts";
import { storePaths } from "../store/store_paths.ts";

/** What is in a store that nothing was recorded in. */
const MADE_AT_ONCE = /^(journal\.jsonl|lock|store\.json|logs|samples|pare\.duckdb(\.wal)?)$/;

/**
 * Looks which folders of a home are not there yet. `removeUnused` removes those again in which
 * nothing is kept: who was refused is left with no store that he did not have.
 */
export function newFolders({ root, store }: Home): { removeUnused(): void } {
  const fresh = { root: !existsSync(root), store: !existsSync(store) };
  return {
    removeUnused() {
      if (fresh.store) removeEmptyStore(store);
      if (fresh.root) removeEmptyFolders(root);
    },
  };
}

function removeEmptyStore(store: string): void {
  if (!existsSync(store)) return;
  const lock = existsSync(storePaths(store).lock) ? tryLock(storePaths(store).lock) : undefined;
  if (lock === null) return; // another process has begun to write there
  try {
    const { journal } = storePaths(store);
    if (existsSync(journal) && statSync(journal).size > 0) return;
    if (!readdirSync(store).every((name) => MADE_AT_ONCE.test(name))) return;
    if (["logs", "samples"].some((name) => holdsFiles(join(store, name)))) return;
    rmSync(store, { recursive: true });
  } finally {
    lock?.release();
  }
}

/** Of a set-up that failed: no record names it, and what it said stands in the refusal. */
const SET_UP_LOG = /^setup-.*\.log$/;

function holdsFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder, { recursive: true, withFileTypes: true })
    .some((entry) => !entry.isDirectory() && !SET_UP_LOG.test(entry.name));
}

/** Removes a folder where it holds nothing but such folders. */
function removeEmptyFolders(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name));
    }
    rmdirSync(folder);
  } catch {
    // Something is kept there.
  }
}
