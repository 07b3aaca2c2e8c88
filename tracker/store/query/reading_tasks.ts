import { UsageError } from "../../../core/errors.ts";
import { flushDatabase, type FlushReport, heldError } from "../index/database_tasks.ts";
import { Keeper, type Reader, writesStore } from "./kept_reader.ts";
import { firstLine, isDamagedBlock, isInternal, type Obstacle } from "../index/obstacle.ts";
import { hasOwnForm, openCurrent } from "../index/open_current.ts";
import type { Ends } from "../index/places.ts";
import type { OpenDatabase } from "../index/open_database.ts";
import { readSeries, type Series, type SeriesKey } from "../points/series.ts";
import { unreadable } from "../index/scan_database.ts";
import { exists, identityOf, setAside } from "../../ground/storage/set_aside.ts";
import { endOf, requireThere, shelfJournals } from "../shelf/shelf.ts";
import { runOwner } from "../shelf/writers.ts";
import { storageFault } from "../../ground/storage/storage_error.ts";
import { behindSentence, heldSentence, tornSentence, unwritableSentence } from "./stale.ts";
import type { StorePaths } from "../store_paths.ts";

/** How long a reader waits while another one brings the index up to date. */
const TAKE_OVER_PATIENCE_MS = 500;
/** How long a reader takes over what a dead writer left: the rest is for the next reader. */
export const TAKE_OVER_MS = 5_000;
/** How long it has the database at a time meanwhile, and how long others may have it in between. */
const TURN_MS = 200;
const YIELD_MS = 30;

/** How a database is opened for reading, here or in another process. */
export interface Opening<R extends Reader> {
  /** Opens it once; "behind" where it is to be `current` and lacks something that is on the shelf. */
  open(
    paths: StorePaths,
    options: { patience_ms: number; current: boolean },
  ): Promise<R | Obstacle | "behind">;
  /** Keeps it open for the next question where this process writes the store; null: never. */
  keeper: Keeper<R> | null;
}

/** What the answer of a reader is worth. */
export interface Standing {
  /** Why what a dead writer left could not be taken over; null: the index is as it should be. */
  stale: string | null;
  /** What is no part of any answer, as nobody was told that it is kept; null: nothing is. */
  torn: string | null;
}

interface ForReading<R extends Reader> extends Standing {
  reader: R;
}

const keptHere = new Keeper<OpenDatabase>();

/** Closes what a reading left open in this process. */
export function closeKeptHere(): Promise<void> {
  return keptHere.close();
}

/** Opens the database in this process, for statements of pare's own. */
export function openingHere(write_into?: string): Opening<OpenDatabase> {
  const outside = write_into === undefined ? {} : { write_into };
  return {
    keeper: write_into === undefined ? keptHere : null,
    open: (paths, options) => openCurrent(paths, { readOnly: true, ...outside, ...options }),
  };
}

/** Takes over what a dead writer left, in turns that let other processes in. */
async function takeOver(
  paths: StorePaths,
  wanted: Ends,
  patience_ms: number,
  budget_ms: number,
): Promise<FlushReport> {
  const until = performance.now() + budget_ms;
  for (;;) {
    const options = { patience_ms, keep_log: false, budget_ms: TURN_MS };
    const report = await flushDatabase(paths, wanted, options);
    if (report.held || report.caught_up || performance.now() >= until) return report;
    await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
  }
}

/** What is said of journals that end in the middle of a record, of those that nobody writes; null: none does. */
function tornEnds(paths: StorePaths): string | null {
  const torn = shelfJournals(paths).flatMap((journal) => {
    const bytes = journal.bytes - endOf(journal);
    const { study_id } = journal;
    const written = bytes > 0 && study_id !== null && runOwner(paths.root, study_id) !== null;
    return bytes === 0 || written ? [] : [{ name: journal.name, bytes }];
  });
  return torn.length === 0 ? null : tornSentence(torn);
}

/**
 * Opens for reading; what a dead writer left in the journal is taken over first. Where somebody
 * else has the file open for reading that cannot be done: the answer is then that of the index as
 * it is, and says so.
 */
async function openForReading<R extends Reader>(
  paths: StorePaths,
  patience_ms: number,
  { open }: Opening<R>,
  budget_ms: number,
): Promise<ForReading<R>> {
  let stale: string | null = null;
  requireThere(paths);
  // What was there when it was asked: somebody may write on and on.
  const wanted = Object.fromEntries(
    shelfJournals(paths).map((journal) => [journal.name, endOf(journal)]),
  );
  for (let attempt = 0;; attempt++) {
    const torn = tornEnds(paths);
    const current = attempt === 0;
    const opened = exists(paths.database) ? await open(paths, { patience_ms, current }) : null;
    const obstacle = opened !== null && opened !== "behind" && "obstacle" in opened ? opened : null;
    if (obstacle?.obstacle === "held") throw heldError(paths, obstacle.holder);
    if (opened !== null && opened !== "behind" && !("obstacle" in opened)) {
      return { reader: opened, stale, torn };
    }
    if (opened !== "behind" && attempt > 1) {
      throw new UsageError(`Cannot read ${paths.database} as it is not there yet or is damaged`);
    }
    const patience = Math.min(patience_ms, TAKE_OVER_PATIENCE_MS);
    const report = await takeOver(paths, wanted, patience, budget_ms).catch(async (error) => {
      // A store of others, or on a disk that nobody writes: what its index holds can be read.
      const unwritable = storageFault(error)?.kind === "unwritable";
      if (unwritable && opened === "behind" && await hasOwnForm(paths)) return firstLine(error);
      throw error;
    });
    if (typeof report === "string") {
      stale = unwritableSentence(report);
      continue;
    }
    if (report.held && opened === null) throw heldError(paths, report.held_by);
    stale = report.held
      ? heldSentence(report.held_by)
      : report.caught_up
      ? null
      : behindSentence(report.database_bytes, report.journal_bytes);
  }
}

/**
 * Works on the database opened for reading. A damaged block shows only when a statement reads it:
 * the database is set aside then, made anew, and the work is done again. `budget_ms`: how long a
 * backlog is taken over; an export leaves nothing out.
 */
export async function reading<T, R extends Reader>(
  paths: StorePaths,
  patience_ms: number,
  opening: Opening<R>,
  work: (opened: ForReading<R>) => Promise<T>,
  budget_ms = Infinity,
): Promise<T> {
  const keeper = writesStore(paths) ? opening.keeper : null;
  let internal: unknown = null;
  for (let attempt = 0;; attempt++) {
    const left = await opening.keeper?.take(paths) ?? null;
    if (keeper === null) await left?.close();
    const opened = keeper !== null && left !== null
      ? { reader: left, stale: null, torn: null }
      : await openForReading(paths, patience_ms, opening, budget_ms);
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
      if (answered && keeper !== null) keeper.keep(paths, opened.reader);
      else await opened.reader.close();
    }
    // A mistake of DuckDB's own: the file is whole, and making it anew would change nothing.
    if (internal !== null && await unreadable(paths.database) === null) throw internal;
    const kept = setAside(paths.database, identity);
    if (kept !== null) {
      console.error(`pare: made the index anew; the one before is kept as ${kept}: ${reason}`);
    }
  }
}

/** Reads one series, thinned. */
export function seriesOfDatabase(
  paths: StorePaths,
  key: SeriesKey,
  points: number,
  patience_ms: number,
): Promise<Series> {
  return reading(paths, patience_ms, openingHere(), async ({ reader, stale }) => {
    return { ...await readSeries(reader.connection, key, points), stale };
  }, TAKE_OVER_MS);
}
