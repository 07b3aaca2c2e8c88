import { UsageError } from "../../core/mod.ts";
import { flushDatabase, type FlushReport, heldError } from "./database_tasks.ts";
import { isPlaceOf, sinkPlace } from "./journal_mark.ts";
import { keepOpen, takeKept, writesStore } from "./kept_reader.ts";
import { SCHEMA_VERSION, schemaVersion } from "./migrate.ts";
import { firstLine, isDamagedBlock, isInternal } from "./obstacle.ts";
import { type OpenDatabase, type OpenOptions, openPatiently } from "./open_database.ts";
import { readSeries, type Series, type SeriesKey } from "./points_series.ts";
import type { QueryLimits, QueryResult } from "./query_result.ts";
import { checkQuery, runExport, runQuery } from "./run_query.ts";
import { unreadable } from "./scan_database.ts";
import { exists, identityOf, setAside } from "./set_aside.ts";
import { journalSize } from "./sink.ts";
import { behindSentence, heldSentence } from "./stale.ts";
import type { StorePaths } from "./store_paths.ts";
import { storeWriter } from "./store_writer.ts";

/** How long a reader waits for another one before it leaves the taking over to a later reader. */
const TAKE_OVER_PATIENCE_MS = 500;
/** How long a reader takes over what a dead writer left: the rest is for the next reader. */
const TAKE_OVER_MS = 5_000;
/** How long it has the database at a time meanwhile, and how long others may have it in between. */
const TURN_MS = 200;
const YIELD_MS = 30;

/** What a reader's statements may write beside the database, and how long it takes a backlog over. */
interface ReadingOptions extends Pick<OpenOptions, "write_to" | "write_into"> {
  /** Default: until there is none, as an export leaves nothing out. */
  budget_ms?: number;
}

interface ForReading extends OpenDatabase {
  /** Why what a dead writer left could not be taken over; null: the index is as it should be. */
  stale: string | null;
}

/** Whether there is nothing left to take over or to migrate. */
async function isCurrent(
  { connection }: OpenDatabase,
  { journal }: StorePaths,
  size: number,
): Promise<boolean> {
  try {
    if (await schemaVersion(connection) < SCHEMA_VERSION) return false;
    const place = await sinkPlace(connection);
    return place.offset >= size && isPlaceOf(journal, place);
  } catch {
    return false;
  }
}

/** Takes over what a dead writer left, in turns that let other processes in. */
async function takeOver(
  paths: StorePaths,
  to: number,
  patience_ms: number,
  budget_ms: number,
): Promise<FlushReport> {
  const until = performance.now() + budget_ms;
  for (;;) {
    const options = { patience_ms, keep_log: false, budget_ms: TURN_MS };
    const report = await flushDatabase(paths, to, options);
    if (report.held || report.reached >= to || performance.now() >= until) return report;
    await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
  }
}

/**
 * Opens for reading; what a dead writer left in the journal is taken over first. Where somebody
 * else has the file open for reading that cannot be done: the answer is then that of the index as
 * it is, and says so.
 */
async function openForReading(
  paths: StorePaths,
  patience_ms: number,
  { budget_ms = Infinity, ...outside }: ReadingOptions,
): Promise<ForReading> {
  const options = { readOnly: true, patience_ms, ...outside };
  let stale: string | null = null;
  for (let attempt = 0;; attempt++) {
    const writing = storeWriter(paths) !== null;
    const size = journalSize(paths.journal);
    const opened = exists(paths.database) ? await openPatiently(paths.database, options) : null;
    if (opened !== null && "obstacle" in opened && opened.obstacle === "held") {
      throw heldError(paths, opened.holder);
    }
    if (opened !== null && !("obstacle" in opened)) {
      const enough = writing || attempt > 0 || await isCurrent(opened, paths, size);
      if (enough) return { ...opened, stale };
      opened.close();
    } else if (attempt > 1) {
      throw new UsageError(`Cannot read ${paths.database} as it is not there yet or is damaged`);
    }
    const patience = Math.min(patience_ms, TAKE_OVER_PATIENCE_MS);
    const report = await takeOver(paths, size, patience, budget_ms);
    if (report.held && opened === null) throw heldError(paths, report.held_by);
    stale = report.held
      ? heldSentence(report.held_by)
      : report.reached < size
      ? behindSentence(report.reached, size)
      : null;
  }
}

/**
 * Works on the database opened for reading. A damaged block shows only when a statement reads it:
 * the database is set aside then, made anew, and the work is done again.
 */
export async function reading<T>(
  paths: StorePaths,
  patience_ms: number,
  work: (opened: ForReading) => Promise<T>,
  options: ReadingOptions = {},
): Promise<T> {
  const writes = options.write_to !== undefined || options.write_into !== undefined;
  const keeps = !writes && writesStore(paths);
  let internal: unknown = null;
  for (let attempt = 0;; attempt++) {
    const left = takeKept(paths);
    if (!keeps) left?.close();
    const opened = keeps && left !== null
      ? { ...left, stale: null }
      : await openForReading(paths, patience_ms, options);
    const identity = identityOf(paths.database);
    let answered = false;
    let reason: string | null = null;
    try {
      const answer = await work(opened);
      answered = true;
      return answer;
    } catch (error) {
      if (attempt > 0 || !(isDamagedBlock(error) || isInternal(error))) throw error;
      reason = firstLine(error);
      if (!isDamagedBlock(error)) internal = error;
    } finally {
      if (answered && keeps) keepOpen(paths, opened);
      else opened.close();
    }
    // A mistake of DuckDB's own: the file is whole, and making it anew would change nothing.
    if (internal !== null && await unreadable(paths.database) === null) throw internal;
    const kept = setAside(paths.database, identity);
    if (kept !== null) {
      console.error(`pare: made the index anew; the one before is kept as ${kept}: ${reason}`);
    }
  }
}

/** Answers a user's query on a locked connection that can only read. */
export function queryDatabase(
  paths: StorePaths,
  sql: string,
  limits: QueryLimits,
  patience_ms: number,
): Promise<QueryResult> {
  return reading(paths, patience_ms, async ({ connection, stale }) => {
    return { ...await runQuery(connection, sql, limits), stale };
  }, { budget_ms: TAKE_OVER_MS });
}

/** Reads one series, thinned. */
export function seriesOfDatabase(
  paths: StorePaths,
  key: SeriesKey,
  points: number,
  patience_ms: number,
): Promise<Series> {
  return reading(paths, patience_ms, async ({ connection, stale }) => {
    return { ...await readSeries(connection, key, points), stale };
  }, { budget_ms: TAKE_OVER_MS });
}

/** Writes a query's answer as a Parquet file; gives its rows. */
export async function exportParquet(
  paths: StorePaths,
  sql: string,
  out: string,
  limits: QueryLimits,
  patience_ms: number,
): Promise<number> {
  const partial = `${out}.partial-${Deno.pid}`;
  // Bound first where no file can be read at all; the connection that writes is less strict.
  const check = ({ connection }: ForReading) => checkQuery(connection, sql, limits);
  await reading(paths, patience_ms, check);
  try {
    const write = ({ connection }: ForReading) => runExport(connection, sql, partial, limits);
    const rows = await reading(paths, patience_ms, write, { write_to: partial });
    Deno.renameSync(partial, out);
    return rows;
  } finally {
    if (exists(partial)) Deno.removeSync(partial);
  }
}
