import { dirname, join, resolve } from "node:path";
import { type JournalRecord, type Tracker, UsageError } from "../../core/mod.ts";
import { type Database, useDatabase } from "./index/database.ts";
import type { Rebuilt } from "./index/database_tasks.ts";
import type { ExportedSelect, ExportedTables } from "./export_tables.ts";
import { acquireLock, type FileLock, type LockOwner } from "../ground/storage/file_lock.ts";
import { type Journal, journalEnd, openJournal } from "./journal/journal.ts";
import { knownEntries } from "./journal/reader.ts";
import { openRun, type Run } from "./points/points.ts";
import type { RunKey } from "./points/gather.ts";
import { type Inbox, watchInbox } from "./journal/notes_inbox.ts";
import { checkPoints, type Series, type SeriesKey, type SeriesOptions } from "./points/series.ts";
import { query, READ_PATIENCE_MS } from "./query/query.ts";
import type { QueryLimits, QueryResult } from "./query/result.ts";
import { clearLeftover } from "./index/new_database.ts";
import { type Entry, studyOf } from "./journal/record_line.ts";
import { scheduleSink, type SinkSchedule, type SinkStatus } from "./index/sink_schedule.ts";
import { journalSize } from "./index/sink.ts";
import { logPath, samplesPath, type StorePaths, storePaths } from "./store_paths.ts";
import { currentAnswers } from "./query/current_answers.ts";
import { wholeAnswer } from "./query/whole_answer.ts";
import { checkFormat } from "./store_format.ts";
import { storeWriter } from "./store_writer.ts";
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
  /** Whose lock was taken over as its process is dead; null: nobody's. */
  readonly took_over: LockOwner | null;
  /** Where the torn tail of the journal was put; null: there was none. */
  readonly torn: string | null;
  /** Appends to the journal; resolves when the record is on disk. */
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
  /** The oldest first; by the journal, so that who asks for one study waits for no database. */
  studyIds(): Promise<string[]>;
  /** Every record of a study in order, but its points: what a resumed one starts from. */
  journalOf(study_id: string): Promise<JournalRecord[]>;
  /** Records that cannot be read any more, with the trial they name. */
  damagedRecords(): Promise<Extract<Entry, { kind: "damaged" }>[]>;
  /** Where a worker writes a trial's samples; `relative` goes into the record. */
  samplesPath(
    study_id: string,
    trial_id: string,
    fidelity: string,
  ): { relative: string; absolute: string };
  /** Where a stage's log goes. */
  logPath(study_id: string, trial_id: string, stage: string): string;
  /** Keeps the database's writer quiet while something is timed. */
  pauseSink(): Disposable;
  /** How far the database is, who holds it and who writes the store; waits for nobody. */
  status(): Promise<SinkStatus & { writer: LockOwner | null }>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Parts {
  paths: StorePaths;
  database: Database;
  /** Null where the store was opened for reading. */
  writer: { lock: FileLock; journal: Journal; sink: SinkSchedule; inbox: Inbox } | null;
}

async function openParts(root: string, write: boolean, wait_ms: number): Promise<Parts> {
  const paths = storePaths(root);
  if (!write) {
    if (journalSize(paths.journal) === 0) {
      throw new UsageError(
        `Cannot open the store ${root} as nothing is recorded there; run a study first`,
      );
    }
    checkFormat(root, false);
    return { paths, database: useDatabase(root), writer: null };
  }
  try {
    for (const path of [paths.samples, paths.logs]) Deno.mkdirSync(path, { recursive: true });
    const lock = await acquireLock(paths.lock, { what: `the store ${root}`, wait_ms });
    try {
      checkFormat(root, true);
      clearLeftover(paths.database);
      const journal = openJournal(paths.journal, `the store ${root}`);
      const database = useDatabase(root);
      const sink = scheduleSink(database, () => journal.end, () => {
        lock.restore();
        journal.check();
      });
      if (journal.end > 0) sink.wake();
      const inbox = watchInbox(root, async (note) => {
        await journal.append(note);
        sink.wake();
      });
      return { paths, database, writer: { lock, journal, sink, inbox } };
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw storageError(error, `open the store ${root}`);
  }
}

/** Where the journal ends: what is on disk for certain. */
function endOf({ writer, paths }: Parts): number {
  return writer?.journal.end ?? journalEnd(paths.journal).end;
}

async function flushed(parts: Parts, wait_ms: number): Promise<SinkStatus> {
  const { writer, database } = parts;
  if (writer !== null) return await writer.sink.flush(wait_ms);
  const { reached, held_by, damaged } = await database.peek();
  const journal_bytes = endOf(parts);
  return {
    journal_bytes,
    database_bytes: reached,
    caught_up: reached >= journal_bytes,
    held_by,
    set_aside: null,
    error: damaged,
  };
}

async function close({ writer, database }: Parts): Promise<void> {
  if (writer !== null) {
    await writer.inbox.stop();
    writer.sink.stop();
    await writer.journal.close();
    await writer.sink.flush(1_000, { last: true });
  }
  await database.close();
  writer?.lock.release();
}

/** What is answered by the journal alone, as far as it goes at the moment. */
function journalReads(
  path: string,
  end: () => number,
): Pick<Store, "studyIds" | "journalOf" | "damagedRecords"> {
  const entries = () => knownEntries(path, { to: end(), without: "points" });
  const records = async () =>
    (await entries()).flatMap((entry) => entry.kind === "record" ? [entry.record] : []);
  return {
    async studyIds() {
      const opened = (await records()).filter((record) => record.type === "study_opened");
      return [...new Set(opened.map(({ study_id }) => study_id))];
    },
    journalOf: async (study_id) =>
      (await records()).filter((record) => studyOf(record) === study_id),
    damagedRecords: async () => (await entries()).filter((entry) => entry.kind === "damaged"),
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

/**
 * Opens the store in a directory; `write` takes its lock and makes the directory where it is
 * missing. One writer at a time, any number of readers; `await using` closes it.
 */
export async function openStore(
  directory: string,
  { write, wait_ms = 2_000 }: { write: boolean; wait_ms?: number },
): Promise<Store> {
  const root = resolve(directory);
  const parts = await openParts(root, write, wait_ms);
  const { paths, database, writer } = parts;
  const end = (): number => endOf(parts);
  let closed: Promise<void> | null = null;
  const closeOnce = (): Promise<void> => closed ??= close(parts);
  const placed = (relative: string): string => {
    const absolute = join(root, relative);
    if (writer !== null) Deno.mkdirSync(dirname(absolute), { recursive: true });
    return absolute;
  };

  const current = writer === null
    ? <T>(work: () => Promise<T>) => work()
    : currentAnswers(writer.sink, end);
  const { query: queried, wholeQuery, ask } = questions(root, database, current);
  const forWriting = (): NonNullable<Parts["writer"]> => {
    if (writer !== null) return writer;
    throw new Error(`Cannot record in ${root} as it was opened for reading`);
  };

  return {
    paths,
    took_over: writer?.lock.took_over ?? null,
    torn: writer?.journal.torn ?? null,
    async record(record) {
      const { journal, sink } = forWriting();
      await journal.append(record);
      sink.wake();
    },
    openRun(key) {
      const { journal, sink } = forWriting();
      return openRun(journal, () => sink.wake(), key);
    },
    flush: ({ wait_ms = 5_000 } = {}) => flushed(parts, wait_ms),
    ask,
    wholeQuery,
    query: queried,
    series(key, { points = 1_000 } = {}) {
      checkPoints(key.metric, points);
      return current(() => database.series(key, points, READ_PATIENCE_MS));
    },
    async exportParquet(sql, out, limits = {}) {
      const file = outsideStores(out, "write");
      if (writer !== null) await flushed(parts, 1_000);
      return await database.exportParquet(sql, file, limits, 5_000);
    },
    async exportSelects(directory, selects) {
      if (writer !== null) await flushed(parts, 1_000);
      await database.exportSelects(resolve(directory), selects, 5_000);
    },
    async exportTables(directory) {
      if (writer !== null) await flushed(parts, 1_000);
      return await database.exportTables(resolve(directory), 5_000);
    },
    async studies() {
      return await ask(STUDIES) as unknown as StudySummary[]; // the columns of STUDIES
    },
    ...journalReads(paths.journal, end),
    samplesPath(...of) {
      const relative = samplesPath(...of);
      return { relative, absolute: placed(relative) };
    },
    logPath: (study_id, trial_id, stage) => placed(logPath(study_id, trial_id, stage)),
    pauseSink: () => writer?.sink.pause() ?? { [Symbol.dispose]: () => {} },
    async status() {
      const status = writer?.sink.status() ?? await flushed(parts, 5_000);
      return { ...status, writer: storeWriter(paths) };
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

const STUDIES = `
  SELECT study_id, kind, model_name, dataset, opened_at, stop,
    (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id) AS trials
  FROM studies s ORDER BY position`;

/** Makes the database of a store anew from its journal. */
export async function rebuildDatabase(store: Store): Promise<Rebuilt> {
  const before = (await store.status()).set_aside;
  const { set_aside, caught_up, database_bytes } = await store.flush({ wait_ms: 0 });
  // One that could not be used is made anew already, and kept.
  if (set_aside !== before && caught_up) {
    return { reached: database_bytes, kept: set_aside, recovered: [] };
  }
  const database = useDatabase(store.paths.root);
  try {
    return await database.rebuild(journalSize(store.paths.journal));
  } finally {
    await database.close();
  }
}
