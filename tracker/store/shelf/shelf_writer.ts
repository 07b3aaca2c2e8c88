import { UsageError } from "../../../core/mod.ts";
import type { LockOwner } from "../../../python-backends/process_owner.ts";
import { runPaths } from "../store_paths.ts";
import { openRunWriter, runRefusal, type RunWriter, tryRunWriter } from "./run_writer.ts";

/** A run that was opened for single records stays open so long for the next one. */
const IDLE_MS = 500;
/** And so many do: a run has three files, of which a process may have some hundred. */
const MOST_OPEN = 16;

/** What was found when a run was taken for writing. */
export interface TakenRun {
  /** Whose lock was taken over as its process is dead; null: nobody's. */
  readonly took_over: LockOwner | null;
  /** Where the torn tail of its journal was put; null: there was none. */
  readonly torn: string | null;
}

interface OpenRun {
  readonly writer: RunWriter;
  /** Where its journal ended when it was opened. */
  readonly start: number;
  /** It stays open until it is given back. */
  held: boolean;
  /** Records that are being appended. */
  busy: number;
}

/** The runs that this process writes, each locked from its first record or from when it was taken. */
export class ShelfWriter {
  readonly #open = new Map<string, OpenRun>();
  readonly #moving = new Map<string, Promise<unknown>>();
  /** By study: those who wait for its run to open, in their order. */
  readonly #waiting = new Map<string, Promise<void>>();
  #closed = 0;
  /** Why a run that was closed had lost its journal: what stands there now is not what was acknowledged. */
  #lost: Error | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly root: string, private readonly wait_ms: number) {}

  /** Bytes that were appended here since it was made. */
  written(): number {
    return [...this.#open.values()].reduce(
      (sum, { writer, start }) => sum + writer.journal.end - start,
      this.#closed,
    );
  }

  /** How much was written of each journal that is open, by its name. */
  ends(): Record<string, number> {
    return Object.fromEntries(
      [...this.#open.values()].map(({ writer: { study_id, journal } }) => [
        ...[runPaths(this.root, study_id).name, journal.end],
      ]),
    );
  }

  /** Makes lock files again that somebody removed. Throws where a journal is not there any more. */
  check(): void {
    if (this.#lost !== null) throw this.#lost;
    for (const { writer } of this.#open.values()) {
      writer.lock.restore();
      writer.journal.check();
    }
  }

  /** Takes a run until it is given back. */
  async take(study_id: string): Promise<TakenRun> {
    const run = await this.#run(study_id);
    run.held = true;
    return { took_over: run.writer.lock.took_over, torn: run.writer.journal.torn };
  }

  /** Gives a run back, so that another process may take it. */
  async release(study_id: string): Promise<void> {
    await this.#moving.get(study_id);
    const run = this.#open.get(study_id);
    if (run !== undefined) await this.#close(study_id, run);
  }

  /**
   * Does some work on a run that stays open meanwhile. Work on one run begins in the order of the calls:
   * at once where it is open.
   */
  use<T>(study_id: string, work: (writer: RunWriter) => Promise<T>): Promise<T> {
    const run = this.#open.get(study_id);
    const before = this.#waiting.get(study_id);
    if (run !== undefined && before === undefined) return this.#working(run, work);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const begun = (before ?? Promise.resolve())
      .then(() => this.#run(study_id))
      .then((opened) => void this.#working(opened, work).then(resolve, reject), reject)
      .then(() => {
        if (this.#waiting.get(study_id) === begun) this.#waiting.delete(study_id);
      });
    this.#waiting.set(study_id, begun);
    return promise;
  }

  async #working<T>(run: OpenRun, work: (writer: RunWriter) => Promise<T>): Promise<T> {
    run.busy++;
    try {
      return await work(run.writer);
    } finally {
      run.busy--;
      if (!run.held) this.#closeIdle(MOST_OPEN);
    }
  }

  /** A run for whoever cannot wait for it; it is taken. */
  taken(study_id: string): RunWriter {
    const run = this.#open.get(study_id) ?? this.#opened(tryRunWriter(this.root, study_id));
    if (run === null) throw new UsageError(runRefusal(this.root, study_id));
    run.held = true;
    return run.writer;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#moving.values());
    for (const [study_id, run] of [...this.#open]) await this.#close(study_id, run);
  }

  #opened(writer: RunWriter | null): OpenRun | null {
    if (writer === null) return null;
    const run: OpenRun = { writer, start: writer.journal.end, held: false, busy: 0 };
    this.#open.set(writer.study_id, run);
    return run;
  }

  async #run(study_id: string): Promise<OpenRun> {
    for (;;) {
      const run = this.#open.get(study_id);
      if (run !== undefined) {
        this.#open.delete(study_id); // and to the end of the line of those that close
        this.#open.set(study_id, run);
        return run;
      }
      const moving = this.#moving.get(study_id);
      if (moving === undefined) {
        const opening = openRunWriter(this.root, study_id, this.wait_ms);
        await this.#move(study_id, opening.then((writer) => this.#opened(writer)));
      } else await moving.catch(() => {}); // whoever moves it says so
    }
  }

  async #move(study_id: string, moving: Promise<unknown>): Promise<void> {
    this.#moving.set(study_id, moving);
    try {
      await moving;
    } finally {
      this.#moving.delete(study_id);
    }
  }

  #close(study_id: string, run: OpenRun): Promise<void> {
    this.#open.delete(study_id);
    try {
      run.writer.journal.check();
    } catch (error) {
      this.#lost ??= error as Error;
    }
    this.#closed += run.writer.journal.end - run.start;
    const before = run.writer.journal.end;
    return this.#move(
      study_id,
      run.writer.close().then(() => {
        this.#closed += run.writer.journal.end - before; // what was still on its way
      }),
    );
  }

  /** Closes runs that nobody has taken and nobody uses now, but for the last ones; those a moment later. */
  #closeIdle(most: number): void {
    const idle = [...this.#open].filter(([_, { held, busy }]) => !held && busy === 0);
    for (const [study_id, run] of idle.slice(0, Math.max(0, idle.length - most))) {
      void this.#close(study_id, run);
    }
    clearTimeout(this.#timer);
    if (most === 0) return;
    this.#timer = setTimeout(() => this.#closeIdle(0), IDLE_MS);
    Deno.unrefTimer(this.#timer);
  }
}
