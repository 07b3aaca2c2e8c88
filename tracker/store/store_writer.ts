import { flockOwner, type LockOwner, lockOwner } from "../ground/storage/file_lock.ts";
import type { StorePaths } from "./store_paths.ts";

/** The process that writes a store; null: nobody. Its lock file may be gone, its journal is locked. */
export function storeWriter({ lock, journal }: StorePaths): LockOwner | null {
  return lockOwner(lock) ?? flockOwner(journal);
}
