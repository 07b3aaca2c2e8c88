import { acquireLock, type FileLock, tryLock } from "../../../python-backends/file_lock.ts";
import { exists, removeDatabase } from "../../ground/storage/set_aside.ts";

/** How long a process waits for another one that upgrades the same database. */
const UPGRADE_WAIT_MS = 600_000;

/** Where a database is made that is to take the place of the one there. */
export function newDatabase(database: string): string {
  return `${database}.new`;
}

function upgradeLock(database: string): string {
  return `${database}.upgrade`;
}

/** One process at a time makes a database that takes another one's place; waits for its end. */
export function lockUpgrade(database: string): Promise<FileLock> {
  const what = `the index ${database}`;
  return acquireLock(upgradeLock(database), { what, wait_ms: UPGRADE_WAIT_MS });
}

/** Removes what a killed rebuilding or upgrade left; not where one is under way. */
export function clearLeftover(database: string): void {
  const fresh = newDatabase(database);
  if (!exists(fresh) && !exists(`${fresh}.wal`)) return;
  using lock = tryLock(upgradeLock(database));
  if (lock !== null) removeDatabase(fresh);
}
