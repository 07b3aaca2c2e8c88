import type { Database } from "./database.ts";
import type { FlushReport } from "./database_tasks.ts";

/** Lets records gather: opening and closing the database takes 20 ms each time. */
const QUIET_MS = 400;
const LONGEST_MS = 8_000;
/** Journal that makes a turn long anyway: it begins at once. */
const MUCH_BYTES = 1 << 20;
/** How long a flush has the database at a time, and how long others may have it in between. */
const SLICE_MS = 200;
const YIELD_MS = 30;
/** How long the background waits for a reader, which needs some milliseconds. */
const READER_MS = 200;

/** How far the database is behind the journal, and what keeps it there. */
export interface SinkStatus {
  journal_bytes: number;
  database_bytes: number;
  caught_up: boolean;
  /** The process that has the database open, where that is the reason. */
  held_by: FlushReport["held_by"];
  /** Where a damaged database was put aside since the store was opened. */
  set_aside: string | null;
  error: string | null;
}

export interface SinkSchedule {
  /** There is more to take over: done within half a second, in the background. */
  wake(): void;
  /**
   * Takes everything over now, waiting up to `wait_ms` for whoever has the database; the rest is
   * left to the background after `at_most_ms`.
   */
  flush(wait_ms: number, options?: FlushLimits): Promise<SinkStatus>;
  /** Keeps the background quiet, such as while something is timed. */
  pause(): Disposable;
  status(): SinkStatus;
  stop(): void;
}

interface FlushLimits {
  /** The store is closed behind it. */
  last?: boolean;
  at_most_ms?: number;
}

/**
 * Runs the sink beside the loop; `end` is how much of the journal is on disk. `check` throws where
 * the journal is not there any more: the index must not be made from what stands there then.
 */
export function scheduleSink(
  database: Database,
  end: () => number,
  check: () => void,
): SinkSchedule {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let pauses = 0;
  let delay = QUIET_MS;
  let stopped = false;
  let ticking = false;
  /** Whether the timer is that of much journal. */
  let soon = false;
  let warmed: Promise<unknown> | null = null;
  let last: SinkStatus = {
    journal_bytes: 0,
    database_bytes: 0,
    caught_up: false,
    held_by: null,
    set_aside: null,
    error: null,
  };

  /** One turn with the database; true: there is more to take over and nothing in the way. */
  const slice = async (to: number, wait_ms: number, keep_log: boolean): Promise<boolean> => {
    try {
      check();
      const options = { patience_ms: wait_ms, keep_log, budget_ms: SLICE_MS };
      const report = await database.flush(to, options);
      last = {
        journal_bytes: end(),
        database_bytes: report.held ? last.database_bytes : report.reached,
        caught_up: !report.held && report.reached >= to,
        held_by: report.held_by,
        set_aside: report.set_aside ?? last.set_aside,
        error: report.reason,
      };
      return !report.held && report.reached < to;
    } catch (error) {
      last = { ...last, caught_up: false, error: (error as Error).message };
      return false;
    }
  };

  const run = async (
    wait_ms: number,
    { last: isLast = false, at_most_ms = Infinity }: FlushLimits = {},
    goOn: () => boolean = () => true,
  ): Promise<SinkStatus> => {
    const to = end();
    const until = performance.now() + at_most_ms;
    let reached = -1;
    while (await slice(to, wait_ms, !isLast)) {
      // What is not there cannot be waited for: a journal that is shorter than was written.
      if (last.database_bytes === reached) break;
      reached = last.database_bytes;
      if (performance.now() >= until || !goOn()) break;
      await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
    }
    return last;
  };

  const tick = async (): Promise<void> => {
    timer = null;
    const wanted = (): boolean => !stopped && pauses === 0;
    if (!wanted() || ticking) return;
    ticking = true;
    const started = performance.now();
    const { caught_up } = await run(READER_MS, {}, wanted);
    ticking = false;
    // What came while a long turn ran has gathered long enough.
    const rest = Math.max(YIELD_MS, QUIET_MS - (performance.now() - started));
    delay = caught_up ? rest : Math.min(Math.max(delay, QUIET_MS) * 2, LONGEST_MS);
    if (!caught_up || end() > last.database_bytes) wake();
    else delay = QUIET_MS;
  };

  const wake = (): void => {
    if (stopped || pauses > 0 || ticking) return;
    warmed ??= database.warm().catch(() => {}); // the flush says what is wrong
    // A delay that was made longer, as somebody has the database, stays as it is.
    const much = delay <= QUIET_MS && end() - last.database_bytes >= MUCH_BYTES;
    if (timer !== null && (!much || soon)) return;
    if (timer !== null) clearTimeout(timer);
    soon = much;
    const started = setTimeout(() => void tick(), much ? Math.min(delay, YIELD_MS) : delay);
    Deno.unrefTimer(started);
    timer = started;
  };

  return {
    wake,
    flush: (wait_ms, options) => run(wait_ms, options),
    pause() {
      pauses++;
      return {
        [Symbol.dispose]: () => {
          pauses--;
          wake();
        },
      };
    },
    status: () => ({ ...last, journal_bytes: end() }),
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
