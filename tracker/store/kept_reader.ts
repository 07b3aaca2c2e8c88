import { storeWriter } from "./store_writer.ts";
import type { OpenDatabase } from "./open_database.ts";
import type { StorePaths } from "./store_paths.ts";

/** How long an answered query leaves the database open: opening it takes longer than most answers. */
const KEEP_MS = 1_000;

let kept: {
  database: string;
  opened: OpenDatabase;
  timer: ReturnType<typeof setTimeout>;
} | null = null;

/** Whether this process writes the store: a database that it leaves open is in nobody's way. */
export function writesStore(paths: StorePaths): boolean {
  return storeWriter(paths)?.pid === Deno.pid;
}

/** The database as the last query left it, for the one who asks; null: open it. */
export function takeKept(paths: StorePaths): OpenDatabase | null {
  if (kept?.database !== paths.database) closeKept();
  const opened = kept?.opened ?? null;
  if (kept !== null) clearTimeout(kept.timer);
  kept = null;
  return opened;
}

/** Leaves a database open for the next query. */
export function keepOpen(paths: StorePaths, opened: OpenDatabase): void {
  const timer = setTimeout(closeKept, KEEP_MS);
  Deno.unrefTimer(timer);
  kept = { database: paths.database, opened, timer };
}

/** Closes what a query left open, which everything else but a query must do first. */
export function closeKept(): void {
  if (kept === null) return;
  clearTimeout(kept.timer);
  kept.opened.close();
  kept = null;
}
