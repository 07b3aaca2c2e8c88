import type { Database } from "./database.ts";
import type { FlushReport } from "./database_tasks.ts";

const QUIET_MS = 2_000;
const LONGEST_MS = 8_000;

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
  /** There is more to take over: done within about two seconds, in the background. */
  wake(): void;
  /** Takes everything over now, waiting up to `wait_ms` for whoever has the database. */
  flush(wait_ms: number, options?: { last: boolean }): Promise<SinkStatus>;
  /** Keeps the background quiet, such as while something is timed. */
  pause(): Disposable;
  status(): SinkStatus;
  stop(): void;
}

/** Runs the sink beside the loop; `end` is how much of the journal is on disk. */
export function scheduleSink(database: Database, end: () => number): SinkSchedule {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let pauses = 0;
  let delay = QUIET_MS;
  let stopped = false;
  let last: SinkStatus = {
    journal_bytes: 0,
    database_bytes: 0,
    caught_up: false,
    held_by: null,
    set_aside: null,
    error: null,
  };

  const run = async (
    wait_ms: number,
    { last: isLast } = { last: false },
  ): Promise<SinkStatus> => {
    const to = end();
    try {
      const report = await database.flush(to, { patience_ms: wait_ms, keep_log: !isLast });
      last = {
        journal_bytes: end(),
        database_bytes: report.held ? last.database_bytes : report.reached,
        caught_up: !report.held && report.reached >= to,
        held_by: report.held_by,
        set_aside: report.set_aside ?? last.set_aside,
        error: report.reason,
      };
    } catch (error) {
      last = { ...last, caught_up: false, error: (error as Error).message };
    }
    return last;
  };

  const tick = async (): Promise<void> => {
    timer = null;
    if (stopped || pauses > 0) return;
    const { caught_up } = await run(0);
    delay = caught_up ? QUIET_MS : Math.min(delay * 2, LONGEST_MS);
    if (!caught_up || end() > last.database_bytes) wake();
  };

  const wake = (): void => {
    if (stopped || pauses > 0 || timer !== null) return;
    const started = setTimeout(() => void tick(), delay);
    Deno.unrefTimer(started);
    timer = started;
  };

  return {
    wake,
    flush: run,
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
