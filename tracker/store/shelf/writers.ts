import { existsSync, statSync } from "node:fs";
import { flockOwner, lockOwner } from "../../../python-backends/file_lock.ts";
import type { LockOwner } from "../../../python-backends/process_owner.ts";
import { runPaths, type StorePaths } from "../store_paths.ts";
import { runFolders } from "./shelf.ts";

/** A process that writes a run. */
export interface RunOwner extends LockOwner {
  /** Null: an old store's one writer, a pare of before. */
  readonly study_id: string | null;
}

/** The process that writes the run of a study; null: nobody. Its lock file may be gone: its folder is locked. */
export function runOwner(root: string, study_id: string): LockOwner | null {
  const { lock, folder } = runPaths(root, study_id);
  return lockOwner(lock) ?? flockOwner(folder);
}

/** Whoever writes an old store now, with a pare of before; null: nobody. */
export function oldWriter({ old_lock, old_journal }: StorePaths): LockOwner | null {
  return existsSync(old_journal) ? lockOwner(old_lock) ?? flockOwner(old_journal) : null;
}

/** Who writes which run of a store at the moment. */
export function runOwners(paths: StorePaths): RunOwner[] {
  const old = oldWriter(paths);
  const own = runFolders(paths).flatMap((study_id): RunOwner[] => {
    const { lock } = runPaths(paths.root, study_id);
    // Whoever gives a run back leaves an empty lock file: nothing is asked of a thousand such runs.
    if (statSync(lock, { throwIfNoEntry: false })?.size === 0) return [];
    const owner = runOwner(paths.root, study_id);
    return owner === null ? [] : [{ ...owner, study_id }];
  });
  return old === null ? own : [{ ...old, study_id: null }, ...own];
}
