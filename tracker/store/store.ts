import { dirname, join, resolve } from "node:path";
import { type JournalRecord, type Tracker, UsageError } from "../../core/mod.ts";
import { type Database, useDatabase } from "./index/database.ts";
import type { Rebuilt } from "./index/database_tasks.ts";
import type { ExportedSelect, ExportedTables } from "./export_tables.ts";
import { knownEntries, studyEnd, studyIds } from "./shelf/study_reader.ts";
import { openRun, type Run } from "./points/points.ts";
import type { RunKey } from "./points/gather.ts";
import { checkPoints, type Series, type SeriesKey, type SeriesOptions } from "./points/series.ts";
import { query, READ_PATIENCE_MS } from "./query/query.ts";
import type { QueryLimits, QueryResult } from "./query/result.ts";
import { clearLeftover } from "./index/new_database.ts";
import { studyOf } from "./journal/record_line.ts";
import { scheduleSink, type SinkSchedule, type SinkStatus } from "./index/sink_schedule.ts";
import { isEmptyShelf, requireThere, shelfBytes } from "./shelf/shelf.ts";
import { ShelfWriter, type TakenRun } from "./shelf/shelf_writer.ts";
import { oldWriter, type RunOwner, runOwners } from "./shelf/writers.ts";
import { logPath, samplesPath, type StorePaths, storePaths } from "./store_paths.ts";
import { currentAnswers } from "./query/current_answers.ts";
import { wholeAnswer } from "./query/whole_answer.ts";
import { checkFormat } from "./store_format.ts";
import { makeFolder } from "../../python-backends/whole_file.ts";
import { named } from "../../python-backends/file_lock.ts";
import { outsideStores } from "../ground/storage/outside_stores.ts";
import { storageError } from "../ground/storage/storage_error.ts";

/** A study as a list shows it. */
export interface StudySummary {
  study_id: string;
  /** Of run. */
  kind: string;
  model_name: string;
  dataset: string;
  opened_at: Date | null;
  stop: string | null;
  trials: number;
}

export interface Store extends Tracker {
  readonly paths: StorePaths;
  /**
   * Takes the run of a study for writing, until it is given back or the store is closed. A run that is
   * not taken is at its first record.
   *
   * @throws UsageError where another process writes that study.
   */
  take(study_id: string): Promise<TakenRun>;
  /** Gives a run back, so that another process may take it. */
  release(study_id: string): Promise<void>;
  /** Appends to the journal of the record's study; resolves when the record is on disk. */
  record(record: JournalRecord): Promise<void>;
  /** Logs the points of one trial: metrics over steps. */
  openRun(key: RunKey): Run;
  /** Waits until the database has what was recorded; opened for reading, only says how far it is. */
  flush(options?: { wait_ms?: number }): Promise<SinkStatus>;
  /**
   * One reading statement over everything recorded so far; `stale` says why something is missing
   * where a long backlog is still taken over, or another process has the database.
   */
  query(sql: string, limits?: QueryLimits): Promise<QueryResult>;
  /** The same, asked again while a backlog is taken over: `stale` only where that gets no further. */
  wholeQuery(sql: string, limits?: QueryLimits): Promise<QueryResult>;
  /**
   * Rows of a question of pare's own, over everything recorded; refused where they cannot be had, so
   * that no part is taken for the whole.
   */
  ask(sql: string, limits?: QueryLimits): Promise<QueryResult["rows"]>;
  /** A trial's metric over its steps, thinned to what a plot can show. */
  series(key: SeriesKey, options?: SeriesOptions): Promise<Series>;
  /** Writes a query's answer as a Parquet file; gives the number of rows. */
  exportParquet(sql: string, out: string, limits?: QueryLimits): Promise<number>;
  /** Writes every table and view as Parquet into an existing directory. */
  exportTables(directory: string): Promise<ExportedTables>;
  /** Writes what statements of pare's own select, a Parquet file each that has rows, of one moment. */
  exportSelects(directory: string, selects: readonly ExportedSelect[]): Promise<void>;
  studies(): Promise<StudySummary[]>;
  /** The oldest first; by the journals, so that who asks for one study waits for no database. */
  studyIds(): Promise<string[]>;
  /** Every record of a study in order, but its points: what a resumed one starts from. */
  journalOf(study_id: string): Promise<JournalRecord[]>;
  /** Place behind the last record of a study: where a reader of its records goes on. */
  endOf(study_id: string): number;
  /** Where a worker writes a trial's samples; `relative` goes into the record. */
  samplesPath(
    study_id: string,
    trial_id: string,
    fidelity: string,
  ): { relative: string; absolute: string };
  /** Where a call's log goes. */
  logPath(study_id: string, trial_id: string, call: string): string;
  /** Keeps the database's writer quiet while something is timed. */
  pauseSink(): Disposable;
  /** How far the database is, who holds it and who writes which run; waits for nobody. */
  status(): Promise<SinkStatus & { writers: readonly RunOwner[] }>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Parts {
  paths: StorePaths;
  database: Database;
  /** Null where the store was opened for reading. */
  writer: { shelf: ShelfWriter; sink: SinkSchedule } | null;
}

/** Refuses an old store while a pare of before writes its one journal. */
function requireNoOldWriter(paths: StorePaths): void {
  const owner = oldWriter(paths);
  if (owner === null) return;
  throw new UsageError(
    `Cannot open the store ${paths.root} for writing as ${
      named(owner)
    }, an earlier pare, has it; wait for that process or stop it`,
  );
}

function openParts(root: string, write: boolean, wait_ms: number): Parts {
  const paths = storePaths(root);
  if (!write) {
    if (isEmptyShelf(paths)) {
      throw new UsageError(
        `Cannot open the store ${root} as nothing is recorded there; run a study first`,
      );
    }
    checkFormat(root, false);
    return { paths, database: useDatabase(root), writer: null };
  }
  try {
    makeFolder(paths.runs);
    requireNoOldWriter(paths);
    checkFormat(root, true);
    clearLeftover(paths.database);
    const database = useDatabase(root);
    const shelf = new ShelfWriter(root, wait_ms);
    const sink = scheduleSink(database, shelf);
    if (!isEmptyShelf(paths)) sink.wake();
    return { paths, database, writer: { shelf, sink } };
  } catch (error) {
    throw storageError(error, `open the store ${root}`);
  }
}

async function flushed({ writer, database }: Parts, wait_ms: number): Promise<SinkStatus> {
  if (writer !== null) return await writer.sink.flush(wait_ms);
  const { damaged, ...peeked } = await database.peek();
  const caught_up = peeked.database_bytes >= peeked.journal_bytes;
  return { ...peeked, caught_up, set_aside: null, error: damaged };
}

async function close({ writer, database }: Parts): Promise<void> {
  if (writer !== null) {
    writer.sink.stop();
    await writer.shelf.close();
    await writer.sink.flush(1_000, { last: true });
  }
  await database.close();
}

/** What is answered by the journals alone, as far as they go at the moment. */
function journalReads(
  paths: StorePaths,
  writing: boolean,
): Pick<Store, "studyIds" | "journalOf" | "endOf"> {
  return {
    async studyIds() {
      if (!writing) requireThere(paths);
      return await studyIds(paths);
    },
    async journalOf(study_id) {
      if (!writing) requireThere(paths);
      const entries = await knownEntries(paths, study_id, { without: "points" });
      return entries.flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
    },
    endOf: (study_id) => studyEnd(paths, study_id),
  };
}

/** What is asked of the index, in SQL. */
function questions(
  root: string,
  database: Database,
  current: <T extends { stale: string | null }>(work: () => Promise<T>) => Promise<T>,
): Pick<Store, "query" | "wholeQuery" | "ask"> {
  const once = (sql: string, limits?: QueryLimits) => current(() => query(database, sql, limits));
  const wholeQuery = (sql: string, limits?: QueryLimits) => wholeAnswer(() => once(sql, limits));
  return {
    query: once,
    wholeQuery,
    async ask(sql, limits = {}) {
      const { rows, stale } = await wholeQuery(sql, { maxRows: 1_000_000, ...limits });
      if (stale === null) return rows;
      throw new UsageError(`Cannot answer for the whole store ${root}: ${stale}`);
    },
  };
}

/** What is written of the index for others. */
function exports(
  parts: Parts,
): Pick<Store, "exportParquet" | "exportSelects" | "exportTables"> {
  const { writer, database } = parts;
  const ready = async () => void (writer !== null && await flushed(parts, 1_000));
  return {
    async exportParquet(sql, out, limits = {}) {
      const file = outsideStores(out, "write");
      await ready();
      return await database.exportParquet(sql, file, limits, 5_000);
    },
    async exportSelects(directory, selects) {
      await ready();
      await database.exportSelects(resolve(directory), selects, 5_000);
    },
    async exportTables(directory) {
      await ready();
      return await database.exportTables(resolve(directory), 5_000);
    },
  };
}

/**
 * Opens the store in a directory; `write` makes the directory where it is missing. Any number of
 * processes may write studies in it, a study each one alone, and any number read; `await using` closes it.
 */
// deno-lint-ignore require-await -- async: what cannot be opened rejects
export async function openStore(
  directory: string,
  { write, wait_ms = 2_000 }: { write: boolean; wait_ms?: number },
): Promise<Store> {
  const root = resolve(directory);
  const parts = openParts(root, write, wait_ms);
  const { paths, database, writer } = parts;
  let closed: Promise<void> | null = null;
  const closeOnce = (): Promise<void> => closed ??= close(parts);
  const placed = (relative: string): string => {
    const absolute = join(root, relative);
    if (writer !== null) Deno.mkdirSync(dirname(absolute), { recursive: true });
    return absolute;
  };

  const current = writer === null
    ? <T>(work: () => Promise<T>) => work()
    : currentAnswers(writer.sink);
  const { query: queried, wholeQuery, ask } = questions(root, database, current);
  const forWriting = (): NonNullable<Parts["writer"]> => {
    if (writer !== null) return writer;
    throw new Error(`Cannot record in ${root} as it was opened for reading`);
  };

  return {
    paths,
    async take(study_id) {
      return await forWriting().shelf.take(study_id);
    },
    async release(study_id) {
      await writer?.shelf.release(study_id);
    },
    async record(record) {
      const { shelf, sink } = forWriting();
      await shelf.use(studyOf(record), ({ journal }) => journal.append(record));
      sink.wake();
    },
    openRun(key) {
      const { shelf, sink } = forWriting();
      return openRun(shelf.taken(key.study_id).journal, () => sink.wake(), key);
    },
    flush: ({ wait_ms = 5_000 } = {}) => flushed(parts, wait_ms),
    ask,
    wholeQuery,
    query: queried,
    series(key, { points = 1_000 } = {}) {
      checkPoints(key.metric, points);
      return current(() => database.series(key, points, READ_PATIENCE_MS));
    },
    ...exports(parts),
    async studies() {
      return await ask(STUDIES) as unknown as StudySummary[]; // the columns of STUDIES
    },
    ...journalReads(paths, writer !== null),
    samplesPath(...of) {
      const relative = samplesPath(...of);
      return { relative, absolute: placed(relative) };
    },
    logPath: (study_id, trial_id, call) => placed(logPath(study_id, trial_id, call)),
    pauseSink: () => writer?.sink.pause() ?? { [Symbol.dispose]: () => {} },
    async status() {
      const status = writer?.sink.status() ?? await flushed(parts, 5_000);
      const journal_bytes = shelfBytes(paths);
      const caught_up = status.caught_up && status.database_bytes >= journal_bytes;
      return { ...status, journal_bytes, caught_up, writers: runOwners(paths) };
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

const STUDIES = `
  SELECT study_id, kind, model_name, dataset, opened_at, stop,
    (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id) AS trials
  FROM studies s ORDER BY opened_at, study_id`;

/** Makes the database of a store anew from its journals. */
export async function rebuildDatabase(store: Store): Promise<Rebuilt> {
  const before = (await store.status()).set_aside;
  const { set_aside, caught_up, database_bytes } = await store.flush({ wait_ms: 0 });
  // One that could not be used is made anew already, and kept.
  if (set_aside !== before && caught_up) {
    return { reached: database_bytes, kept: set_aside, recovered: [] };
  }
  const database = useDatabase(store.paths.root);
  try {
    return await database.rebuild();
  } finally {
    await database.close();
  }
}
