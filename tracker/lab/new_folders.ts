import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../ground/home.ts";
import { isEmptyShelf, runFolders } from "../store/shelf/shelf.ts";
import { runOwner } from "../store/shelf/writers.ts";
import { runPaths, storePaths } from "../store/store_paths.ts";

/** What is in a store that nothing was recorded in. */
const MADE_AT_ONCE = /^(runs|store\.json(\.partial)?|mlflow\.lock|pare\.duckdb(\.wal)?)$/;
/** And in a run's folder. */
const OF_RUN = /^(journal\.jsonl|lock|logs|samples|mlflow\.lock)$/;

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
  const paths = storePaths(store);
  if (!existsSync(store) || !isEmptyShelf(paths)) return;
  if (!readdirSync(store).every((name) => MADE_AT_ONCE.test(name))) return;
  for (const study_id of runFolders(paths)) {
    if (runOwner(store, study_id) !== null) return; // another process has begun to write there
    if (!isUnused(runPaths(store, study_id).folder)) return;
  }
  rmSync(store, { recursive: true });
}

function isUnused(folder: string): boolean {
  return readdirSync(folder).every((name) => OF_RUN.test(name)) &&
    ["logs", "samples"].every((name) => !holdsFiles(join(folder, name)));
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
