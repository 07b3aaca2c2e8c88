import { copyFile, open, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { acquireLock } from "./file_lock.ts";
import { pendingMigrations } from "./migrate.ts";
import { type Obstacle, openDatabase } from "./open_database.ts";

/** How long a process waits for another one that upgrades the same database. */
const UPGRADE_WAIT_MS = 600_000;

/** Where the database of an older schema is kept. */
export function backupPath(database: string, version: number): string {
  return `${database}.backup-v${version}`;
}

/** Copies a closed database beside itself; the copy has its name only when it is whole and opens. */
async function backUp(database: string, version: number): Promise<void> {
  const kept = backupPath(database, version);
  if (existsSync(kept)) return;
  const partial = `${kept}.partial`;
  await copyFile(database, partial);
  const file = await open(partial, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  const copy = await openDatabase(partial, { readOnly: true });
  if ("obstacle" in copy) {
    await rm(partial);
    throw new Error(`Cannot upgrade ${database} as its copy ${partial} cannot be opened`);
  }
  copy.close();
  await rename(partial, kept);
}

/**
 * Upgrades a database whose new columns only the journal can fill: a copy beside it first, then one
 * made anew in its place by `rebuild`. Killed anywhere, it begins again and finds the old database
 * or the new one whole. Gives what keeps it from being opened; null: it is upgraded.
 */
export async function upgradeDatabase(
  database: string,
  rebuild: () => Promise<unknown>,
): Promise<Obstacle | null> {
  using _one = await acquireLock(`${database}.upgrade`, {
    what: `${database} of an older version`,
    wait_ms: UPGRADE_WAIT_MS,
  });
  // Opening it empties its write-ahead log into the one file that is copied.
  const opened = await openDatabase(database, { readOnly: false });
  if ("obstacle" in opened) return opened;
  const pending = await pendingMigrations(opened.connection, database)
    .finally(() => opened.close());
  if (!pending.from_journal) return null; // another process has done it meanwhile
  await backUp(database, pending.version);
  await rebuild();
  return null;
}
