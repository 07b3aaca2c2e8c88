import type { Holder } from "../../ground/storage/file_holders.ts";
import { UsageError } from "../../../core/mod.ts";
import { findSchema, findSchemaToWrite, makeSchema } from "./schema.ts";
import { carryOver, readablePlaces, type Recovered } from "./carry_over.ts";
import { lockUpgrade, newDatabase } from "./new_database.ts";
import { firstLine, isDamagedBlock, isForeign, isInternal, type Obstacle } from "./obstacle.ts";
import { type OpenDatabase, openDatabase, openPatiently } from "./open_database.ts";
import { unreadable } from "./scan_database.ts";
import {
  exists,
  identityOf,
  keepReplaced,
  removeDatabase,
  setAside,
} from "../../ground/storage/set_aside.ts";
import { endOf, shelfJournals } from "../shelf/shelf.ts";
import { anyIndexPlaces, type Coverage, coverage, type Ends } from "./places.ts";
import { AheadOfJournal, catchUp, type CatchUpLimits, type Wanted } from "./sink.ts";
import { sayProgress } from "./say_progress.ts";
import type { StorePaths } from "../store_paths.ts";

/** How far the database came, and what was in the way. */
export interface FlushReport {
  /** Bytes of whole records on the shelf, and how many of them the index has. */
  journal_bytes: number;
  database_bytes: number;
  /** Everything that was wanted is in the index. */
  caught_up: boolean;
  /** Who has the database, where that stopped the flush. */
  held_by: Holder | null;
  /** Whether the database is another process's for now. */
  held: boolean;
  /** Where a damaged database was put before it was made anew; null: none was. */
  set_aside: string | null;
  reason: string | null;
}

/** Takes journals over into an open database and closes it; or says why that cannot be done. */
async function bringUp(
  opened: OpenDatabase,
  paths: StorePaths,
  wanted: Wanted,
  limits: CatchUpLimits,
): Promise<{ reached: Coverage } | { old: true } | { damaged: string }> {
  let reason: string;
  let internal: boolean;
  try {
    const schema = await findSchemaToWrite(opened.connection, paths.database);
    if (schema.foreign) return { damaged: `${paths.database} is another program's database` };
    if (schema.old) return { old: true };
    if (!schema.current) await makeSchema(opened.connection);
    return { reached: await catchUp(opened.connection, paths, wanted, limits) };
  } catch (error) {
    const damaged = error instanceof AheadOfJournal || isDamagedBlock(error) || isForeign(error);
    if (!damaged && !isInternal(error)) throw error;
    reason = (error as Error).message;
    internal = !damaged;
  } finally {
    opened.close();
  }
  // DuckDB gave up: over the file, or over a mistake of its own that another file would not mend.
  if (internal && await unreadable(paths.database) === null) throw new Error(reason);
  return { damaged: reason };
}

/**
 * Makes an index of another schema anew from the journals, which say all that it says; gives what is in
 * the way, null: nothing. What it still holds of damaged records is carried over.
 */
async function remake(paths: StorePaths): Promise<Obstacle | null> {
  using _one = await lockUpgrade(paths.database);
  try {
    const opened = await openDatabase(paths.database, { readOnly: false });
    if ("obstacle" in opened) return opened;
    const { old } = await findSchemaToWrite(opened.connection, paths.database)
      .finally(() => opened.close());
    if (!old) return null; // another process has done it meanwhile
    await rebuildDatabase(paths, { what: `making the index of ${paths.root} anew`, keep: false });
    return null;
  } catch (error) {
    if (!isDamagedBlock(error) && !isForeign(error)) throw error;
    return { obstacle: "damaged", reason: firstLine(error) };
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
  /** See `CatchUpLimits`. */
  own?: Ends;
}

const HELD = { journal_bytes: 0, database_bytes: 0, caught_up: false, held: true };

/** Whether all that is wanted is there: of everything, whole records that somebody acknowledged. */
function hasAll(wanted: Wanted, { lacking }: Coverage): boolean {
  if (wanted === "all") return lacking.length === 0;
  return lacking.every(({ journal, bytes }) =>
    endOf(journal) - bytes >= (wanted[journal.name] ?? 0)
  );
}

/**
 * Opens, appends, closes. A damaged database is set aside and made anew from the journals, one of another
 * schema is made anew in its place.
 */
export async function flushDatabase(
  paths: StorePaths,
  wanted: Wanted,
  { patience_ms, keep_log, budget_ms, own = {} }: FlushOptions,
  onCommit: (reached: number) => void = () => {},
): Promise<FlushReport> {
  let set_aside: string | null = null;
  let reason: string | null = null;
  for (let attempt = 0; attempt < 4; attempt++) {
    const identity = identityOf(paths.database);
    const options = { readOnly: false, patience_ms, keep_log };
    const opened = await openPatiently(paths.database, options);
    if ("obstacle" in opened && opened.obstacle === "held") {
      return { ...HELD, held_by: opened.holder, set_aside, reason };
    }
    let result = "obstacle" in opened
      ? { damaged: opened.reason }
      : await bringUp(opened, paths, wanted, { budget_ms, onCommit, own });
    if ("old" in result) {
      const obstacle = await remake(paths);
      if (obstacle?.obstacle === "held") {
        return { ...HELD, held_by: obstacle.holder, set_aside, reason };
      }
      if (obstacle === null) continue;
      result = { damaged: obstacle.reason };
    }
    if ("reached" in result) {
      const { lacking: _, ...reached } = result.reached;
      const caught_up = hasAll(wanted, result.reached);
      return { ...reached, caught_up, held: false, held_by: null, set_aside, reason };
    }
    reason = result.damaged;
    if (set_aside !== null) {
      // Made a moment ago, and no better: another copy of it would be of use to nobody.
      if (identityOf(paths.database) === identity) removeDatabase(paths.database);
      break;
    }
    set_aside = setAside(paths.database, identity);
    if (set_aside !== null) {
      console.error(`pare: made the index anew; the one before is kept as ${set_aside}: ${reason}`);
    }
  }
  throw new UsageError(`Cannot make ${paths.database} from the journal: ${reason}`);
}

/** The sentence where the database cannot be had. */
export function heldError(paths: StorePaths, holder: Holder | null): UsageError {
  const who = holder === null ? "another process" : `process ${holder.pid} (${holder.command})`;
  return new UsageError(
    `Cannot read ${paths.database} as ${who} has it open for writing; close it there and ask again`,
  );
}

/** How far the database is, or why it cannot be read. Changes nothing. */
export interface Peek {
  journal_bytes: number;
  database_bytes: number;
  held_by: Holder | null;
  /** What is wrong with the file; null: nothing that shows without reading all of it. */
  damaged: string | null;
}

export async function peekDatabase(paths: StorePaths): Promise<Peek> {
  const journals = shelfJournals(paths);
  const { lacking: _, ...nothing } = coverage(journals, new Map());
  const unread = { ...nothing, held_by: null, damaged: null };
  if (!exists(paths.database)) return unread;
  const opened = await openPatiently(paths.database, { readOnly: true, patience_ms: 300 });
  if ("obstacle" in opened) {
    return opened.obstacle === "held"
      ? { ...unread, held_by: opened.holder }
      : { ...unread, damaged: opened.reason };
  }
  try {
    const { version } = await findSchema(opened.connection);
    if (version === 0) return unread;
    const places = await anyIndexPlaces(opened.connection);
    return { ...unread, database_bytes: coverage(journals, places).database_bytes };
  } catch (error) {
    return { ...unread, damaged: firstLine(error) };
  } finally {
    opened.close();
  }
}

interface RebuildOptions {
  /** What is said while it lasts. */
  what: string;
  /** Whether the old file stays under another name. */
  keep: boolean;
}

/** What a rebuilding did. */
export interface Rebuilt {
  /** Bytes of journal taken over. */
  reached: number;
  /** Where the index before is kept; null: there was none. */
  kept: string | null;
  /** What only the index before still held, carried over. */
  recovered: readonly Recovered[];
}

/** Makes the database anew from the journals and puts it in the old one's place. */
export async function rebuildDatabase(
  paths: StorePaths,
  { what, keep }: RebuildOptions,
): Promise<Rebuilt> {
  const fresh = { ...paths, database: newDatabase(paths.database) };
  removeDatabase(fresh.database);
  try {
    const options = { patience_ms: 0, keep_log: false, budget_ms: Infinity };
    const say = sayProgress(what, coverage(shelfJournals(paths), new Map()).journal_bytes);
    const before = await readablePlaces(paths);
    let recovered: Recovered[] = [];
    if (before !== null) {
      await flushDatabase(fresh, before, options, say);
      recovered = await carryOver(fresh.database, paths.database).catch((error) => {
        // Of another form, or not readable where it is needed: it is kept as it is.
        console.error(`pare: carried nothing over from the index before: ${firstLine(error)}`);
        return [];
      });
    }
    const { database_bytes } = await flushDatabase(fresh, "all", options, say);
    const kept = await replace(paths, fresh.database, keep);
    return { reached: database_bytes, recovered, kept };
  } finally {
    removeDatabase(fresh.database);
  }
}

/** Puts a whole database in the place of the one there; gives where that one is kept. */
async function replace(paths: StorePaths, fresh: string, keep: boolean): Promise<string | null> {
  const identity = identityOf(paths.database);
  // Opening the old one shows that no other process has it, and empties its write-ahead log.
  const old = identity === null ? null : await openDatabase(paths.database, { readOnly: false });
  let kept: string | null = null;
  if (old !== null && "obstacle" in old) {
    if (old.obstacle === "held") throw heldError(paths, old.holder);
    kept = setAside(paths.database, identity);
  } else if (old !== null) {
    old.close();
    if (keep) kept = keepReplaced(paths.database);
  }
  Deno.renameSync(fresh, paths.database);
  if (exists(`${paths.database}.wal`)) Deno.removeSync(`${paths.database}.wal`);
  return kept;
}

/** As a person asks for it: the old file stays, and nobody upgrades the database meanwhile. */
export async function rebuildAsAsked(paths: StorePaths): Promise<Rebuilt> {
  using _one = await lockUpgrade(paths.database);
  return await rebuildDatabase(paths, {
    what: `making the index of ${paths.root} anew`,
    keep: true,
  });
}
