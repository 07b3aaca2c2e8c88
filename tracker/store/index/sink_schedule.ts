import type { Database } from "./database.ts";
import type { FlushReport } from "./database_tasks.ts";
import type { Ends } from "./places.ts";

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

/** How far the database is behind the journals on the shelf, and what keeps it there. */
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

/** What a process writes of a shelf. */
export interface Writing {
  /** How many bytes it has appended. */
  written(): number;
  /** How much it has written of each journal that it has open. */
  ends(): Ends;
  /** Throws where one is not there any more: the index must not be made from what stands there then. */
  check(): void;
}

/**
 * Runs the sink beside the loop. Whoever has the database takes over what all others have written, too.
 */
export function scheduleSink(database: Database, writing: Writing): SinkSchedule {
  return new Schedule(database, writing);
}

class Schedule implements SinkSchedule {
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pauses = 0;
  #delay = QUIET_MS;
  #stopped = false;
  #ticking = false;
  /** Whether the timer is that of much journal. */
  #soon = false;
  #warmed: Promise<unknown> | null = null;
  /** Bytes that this process had written when the database last had all of them. */
  #taken = 0;
  #last: SinkStatus = {
    journal_bytes: 0,
    database_bytes: 0,
    caught_up: false,
    held_by: null,
    set_aside: null,
    error: null,
  };

  constructor(
    private readonly database: Database,
    private readonly writing: Writing,
  ) {}

  flush(wait_ms: number, options?: FlushLimits): Promise<SinkStatus> {
    return this.#run(wait_ms, options);
  }

  pause(): Disposable {
    this.#pauses++;
    return {
      [Symbol.dispose]: () => {
        this.#pauses--;
        this.wake();
      },
    };
  }

  status(): SinkStatus {
    const left = this.writing.written() - this.#taken;
    if (left === 0) return this.#last;
    return { ...this.#last, caught_up: false, journal_bytes: this.#last.journal_bytes + left };
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  wake(): void {
    if (this.#stopped || this.#pauses > 0 || this.#ticking) return;
    this.#warmed ??= this.database.warm().catch(() => {}); // the flush says what is wrong
    // A delay that was made longer, as somebody has the database, stays as it is.
    const much = this.#delay <= QUIET_MS &&
      this.writing.written() - this.#taken >= MUCH_BYTES;
    if (this.#timer !== null && (!much || this.#soon)) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#soon = much;
    const delay = much ? Math.min(this.#delay, YIELD_MS) : this.#delay;
    const started = setTimeout(() => void this.#tick(), delay);
    Deno.unrefTimer(started);
    this.#timer = started;
  }

  async #tick(): Promise<void> {
    this.#timer = null;
    const wanted = (): boolean => !this.#stopped && this.#pauses === 0;
    if (!wanted() || this.#ticking) return;
    this.#ticking = true;
    const started = performance.now();
    const { caught_up } = await this.#run(READER_MS, {}, wanted);
    this.#ticking = false;
    // What came while a long turn ran has gathered long enough.
    const rest = Math.max(YIELD_MS, QUIET_MS - (performance.now() - started));
    this.#delay = caught_up ? rest : Math.min(Math.max(this.#delay, QUIET_MS) * 2, LONGEST_MS);
    if (!caught_up || this.writing.written() > this.#taken) this.wake();
    else this.#delay = QUIET_MS;
  }

  async #run(
    wait_ms: number,
    { last = false, at_most_ms = Infinity }: FlushLimits = {},
    goOn: () => boolean = () => true,
  ): Promise<SinkStatus> {
    const until = performance.now() + at_most_ms;
    let reached = -1;
    while (await this.#slice(wait_ms, !last)) {
      // What is not there cannot be waited for: a journal that is shorter than was written.
      if (this.#last.database_bytes === reached) break;
      reached = this.#last.database_bytes;
      if (performance.now() >= until || !goOn()) break;
      await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
    }
    return this.#last;
  }

  /** One turn with the database; true: there is more to take over and nothing in the way. */
  async #slice(wait_ms: number, keep_log: boolean): Promise<boolean> {
    try {
      this.writing.check();
      const written = this.writing.written();
      const own = this.writing.ends();
      const options = { patience_ms: wait_ms, keep_log, budget_ms: SLICE_MS, own };
      const { held, caught_up, ...report } = await this.database.flush(options);
      if (caught_up) this.#taken = written;
      this.#last = {
        journal_bytes: held ? this.#last.journal_bytes : report.journal_bytes,
        database_bytes: held ? this.#last.database_bytes : report.database_bytes,
        caught_up,
        held_by: report.held_by,
        set_aside: report.set_aside ?? this.#last.set_aside,
        error: report.reason,
      };
      return !held && !caught_up;
    } catch (error) {
      this.#last = { ...this.#last, caught_up: false, error: (error as Error).message };
      return false;
    }
  }
}
