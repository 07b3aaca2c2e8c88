import { copyFile, open, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { migrate, pendingMigrations } from "./migrate.ts";
import { lockUpgrade } from "./new_database.ts";
import type { Obstacle } from "./obstacle.ts";
import { openDatabase } from "./open_database.ts";

/** Where the database of an older schema is kept. */
export function backupPath(database: string, version: number): string {
  return `${database}.backup-v${version}`;
}

/** Waits until a file's content is on disk. */
async function synced(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Copies a closed database beside itself; the copy has its name only when it is whole and opens. */
async function backUp(database: string, version: number): Promise<void> {
  const kept = backupPath(database, version);
  if (existsSync(kept)) return;
  const partial = `${kept}.partial`;
  try {
    await copyFile(database, partial);
    await synced(partial);
    const copy = await openDatabase(partial, { readOnly: true });
    if ("obstacle" in copy) {
      throw new Error(`Cannot upgrade ${database} as its copy ${partial} cannot be opened`);
    }
    copy.close();
    await rename(partial, kept);
  } finally {
    await rm(partial, { force: true }); // half a copy must not fill a disk
  }
}

/** Migrates a copy and puts it in the old one's place: whoever opens it meets one or the other. */
async function migrateCopy(database: string): Promise<Obstacle | null> {
  const fresh = `${database}.new`;
  for (const path of [fresh, `${fresh}.wal`]) await rm(path, { force: true });
  try {
    await copyFile(database, fresh);
    const copy = await openDatabase(fresh, { readOnly: false });
    if ("obstacle" in copy) return copy;
    await migrate(copy.connection, database).finally(() => copy.close());
    await synced(fresh);
    // Opening the old one shows that no other process has it meanwhile.
    const old = await openDatabase(database, { readOnly: false });
    if ("obstacle" in old) return old;
    old.close();
    await rename(fresh, database);
    return null;
  } finally {
    for (const path of [fresh, `${fresh}.wal`]) await rm(path, { force: true });
  }
}

/**
 * Upgrades a database of an older schema: a copy of it beside itself first, then a new one in its
 * place. Where only the journal can fill what is new `rebuild` makes that one, else it is the old one
 * migrated. Killed anywhere, it begins again and finds the old database or the new one whole. Gives
 * what keeps it from being opened; null: it is upgraded.
 */
export async function upgradeDatabase(
  database: string,
  rebuild: () => Promise<unknown>,
): Promise<Obstacle | null> {
  using _one = await lockUpgrade(database);
  // Opening it empties its write-ahead log into the one file that is copied.
  const opened = await openDatabase(database, { readOnly: false });
  if ("obstacle" in opened) return opened;
  const pending = await pendingMigrations(opened.connection, database)
    .finally(() => opened.close());
  if (!pending.old) return null; // another process has done it meanwhile
  await backUp(database, pending.version);
  if (!pending.from_journal) return await migrateCopy(database);
  await rebuild();
  return null;
}
