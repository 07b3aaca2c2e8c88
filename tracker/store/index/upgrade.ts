import { copyFile, open, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { sha256File } from "../../ground/storage/file_hash.ts";
import { lockUpgrade } from "./new_database.ts";
import type { Obstacle } from "./obstacle.ts";
import { openDatabase } from "./open_database.ts";
import { findSchemaToWrite } from "./schema.ts";

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

/** The first name for a copy that is free; null: one that is there is this database, to the byte. */
async function freeBackup(database: string, version: number): Promise<string | null> {
  const own = await sha256File(database);
  for (let n = 1;; n++) {
    const kept = backupPath(database, version) + (n === 1 ? "" : `-${n}`);
    if (!existsSync(kept)) return kept;
    if (await sha256File(kept) === own) return null; // what was killed begins again
  }
}

/** Copies a closed database beside itself; the copy has its name only when it is whole and opens. */
async function backUp(database: string, version: number): Promise<void> {
  const kept = await freeBackup(database, version);
  if (kept === null) return;
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

/**
 * Upgrades a database of an older schema: a copy of it beside itself first, then one made anew in its
 * place by `rebuild`, as new columns and what newer rules say of old trials are the journal's to fill.
 * Killed anywhere, it begins again and finds the old database or the new one whole. Gives what keeps
 * it from being opened; null: it is upgraded.
 */
export async function upgradeDatabase(
  database: string,
  rebuild: () => Promise<unknown>,
): Promise<Obstacle | null> {
  using _one = await lockUpgrade(database);
  // Opening it empties its write-ahead log into the one file that is copied.
  const opened = await openDatabase(database, { readOnly: false });
  if ("obstacle" in opened) return opened;
  const schema = await findSchemaToWrite(opened.connection, database)
    .finally(() => opened.close());
  if (!schema.old) return null; // another process has done it meanwhile
  await backUp(database, schema.version);
  await rebuild();
  return null;
}
