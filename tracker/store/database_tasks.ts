import { UsageError } from "../../core/mod.ts";
import { migrate, pendingMigrations, schemaVersion } from "./migrate.ts";
import {
  type Holder,
  obstacleOf,
  type OpenDatabase,
  openDatabase,
  openPatiently,
} from "./open_database.ts";
import { AheadOfJournal, catchUp, type CatchUpLimits, sinkOffset } from "./sink.ts";
import { sayProgress } from "./say_progress.ts";
import type { StorePaths } from "./store_paths.ts";
import { upgradeDatabase } from "./upgrade.ts";

/** How far the database came, and what was in the way. */
export interface FlushReport {
  reached: number;
  /** Who has the database, where that stopped the flush. */
  held_by: Holder | null;
  /** Whether the database is another process's for now. */
  held: boolean;
  /** Where a damaged database was put before it was made anew; null: none was. */
  set_aside: string | null;
  reason: string | null;
}

/** Whether something, also a broken link, has this name. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Moves a database that cannot be read out of the way; it is kept. */
export function setAside(database: string): string {
  let n = 1;
  while (exists(`${database}.damaged-${n}`) || exists(`${database}.damaged-${n}.wal`)) n++;
  const kept = `${database}.damaged-${n}`;
  if (exists(database)) Deno.renameSync(database, kept);
  if (exists(`${database}.wal`)) Deno.renameSync(`${database}.wal`, `${kept}.wal`);
  return kept;
}

/** Takes the journal over into an open database and closes it; or says why that cannot be done. */
async function bringUp(
  opened: OpenDatabase,
  paths: StorePaths,
  to: number,
  limits: CatchUpLimits,
): Promise<{ reached: number } | { old: true } | { damaged: string }> {
  try {
    const pending = await pendingMigrations(opened.connection, paths.database);
    if (pending.old) return { old: true };
    await migrate(opened.connection, paths.database);
    return { reached: await catchUp(opened.connection, paths, to, limits) };
  } catch (error) {
    const obstacle = obstacleOf(error);
    if (!(error instanceof AheadOfJournal) && obstacle?.obstacle !== "damaged") throw error;
    return { damaged: (error as Error).message };
  } finally {
    opened.close();
  }
}

/** How a flush is to go. */
export interface FlushOptions {
  /** How long to wait for whoever has the database. */
  patience_ms: number;
  /** See `OpenOptions`. */
  keep_log: boolean;
  /** How long to have the database: what is left then is for the next flush. */
  budget_ms: number;
}

/**
 * Opens, appends, closes. A damaged database is set aside and made anew from the journal; an
 * older one is copied beside itself first.
 */
export async function flushDatabase(
  paths: StorePaths,
  to: number,
  { patience_ms, keep_log, budget_ms }: FlushOptions,
  onCommit: (reached: number) => void = () => {},
): Promise<FlushReport> {
  let set_aside: string | null = null;
  let reason: string | null = null;
  for (let attempt = 0; attempt < 3; attempt++) {
    const options = { readOnly: false, patience_ms, keep_log };
    const opened = await openPatiently(paths.database, options);
    if ("obstacle" in opened && opened.obstacle === "held") {
      return { reached: 0, held: true, held_by: opened.holder, set_aside, reason };
    }
    if ("obstacle" in opened) {
      reason = opened.reason;
      set_aside = setAside(paths.database);
      continue;
    }
    const result = await bringUp(opened, paths, to, { budget_ms, onCommit });
    if ("reached" in result) {
      return { reached: result.reached, held: false, held_by: null, set_aside, reason };
    }
    if ("old" in result) {
      const rebuild = () => rebuildDatabase(paths, to, `upgrading the store ${paths.root}`);
      const obstacle = await upgradeDatabase(paths.database, rebuild);
      if (obstacle?.obstacle !== "held") continue;
      return { reached: 0, held: true, held_by: obstacle.holder, set_aside, reason };
    }
    reason = result.damaged;
    set_aside = setAside(paths.database);
  }
  throw new Error(`Cannot make ${paths.database} from the journal: ${reason}`);
}

/** The sentence where the database cannot be had. */
export function heldError(paths: StorePaths, holder: Holder | null): UsageError {
  const who = holder === null ? "another process" : `process ${holder.pid} (${holder.command})`;
  return new UsageError(
    `Cannot read ${paths.database} as ${who} has it open for writing; close it there and ask again`,
  );
}

/** How far the database is, or who keeps it from being read. Changes nothing. */
export async function peekDatabase(
  paths: StorePaths,
): Promise<{ reached: number; held_by: Holder | null }> {
  if (!exists(paths.database)) return { reached: 0, held_by: null };
  const opened = await openPatiently(paths.database, { readOnly: true, patience_ms: 300 });
  if ("obstacle" in opened) {
    return { reached: 0, held_by: opened.obstacle === "held" ? opened.holder : null };
  }
  try {
    const version = await schemaVersion(opened.connection);
    return { reached: version === 0 ? 0 : await sinkOffset(opened.connection), held_by: null };
  } finally {
    opened.close();
  }
}

/** Makes the database anew from the journal and puts it in the old one's place; says how far it is. */
export async function rebuildDatabase(
  paths: StorePaths,
  to: number,
  what = `making the index of ${paths.root} anew`,
): Promise<number> {
  const fresh = { ...paths, database: `${paths.database}.new` };
  for (const path of [fresh.database, `${fresh.database}.wal`]) {
    if (exists(path)) Deno.removeSync(path);
  }
  const options = { patience_ms: 0, keep_log: false, budget_ms: Infinity };
  const report = await flushDatabase(fresh, to, options, sayProgress(what, to));
  // Opening the old one shows that no other process has it, and empties its write-ahead log.
  const old = exists(paths.database)
    ? await openDatabase(paths.database, { readOnly: false })
    : null;
  if (old !== null && "obstacle" in old && old.obstacle === "held") {
    throw heldError(paths, old.holder);
  }
  if (old !== null && "obstacle" in old) setAside(paths.database);
  if (old !== null && !("obstacle" in old)) old.close();
  Deno.renameSync(fresh.database, paths.database);
  if (exists(`${paths.database}.wal`)) Deno.removeSync(`${paths.database}.wal`);
  return report.reached;
}
