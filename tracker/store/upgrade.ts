import { copyFile, open, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import type { PendingMigrations } from "./migrate.ts";
import { type Holder, openDatabase } from "./open_database.ts";

/** Where the database of an older schema is kept. */
export function backupPath(database: string, version: number): string {
  return `${database}.backup-v${version}`;
}

/**
 * Copies a database of an older schema beside it, once; the copy has its name only when it is whole
 * and can be opened. Gives who has the database where that keeps it from being copied.
 */
export async function backUp(
  database: string,
  { version }: PendingMigrations,
): Promise<{ held: boolean; holder: Holder | null }> {
  const kept = backupPath(database, version);
  const done = { held: false, holder: null };
  if (existsSync(kept)) return done;
  // Opening it empties its write-ahead log into the one file that is copied.
  const opened = await openDatabase(database, { readOnly: false });
  if ("obstacle" in opened) {
    return { held: true, holder: opened.obstacle === "held" ? opened.holder : null };
  }
  opened.close();
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
  return done;
}
