import {
  cancelJob,
  type Engine,
  holdJob,
  type JobEvent,
  moveJob,
  type Place,
  type Queue,
  releaseJob,
  type Slots,
  type Turn,
  UsageError,
} from "../../core/mod.ts";
import { logTail } from "../../python-backends/child/log_tail.ts";
import { attemptPaths } from "../jobs/attempt/attempt_folder.ts";
import { driveQueue, driverLock } from "../jobs/queue/drive_queue.ts";
import type { ProgramOf } from "../jobs/queue/queue_files.ts";
import { QueueDisk } from "../store/queue/queue_disk.ts";
import { attemptFolder, type QueuePaths, queuePaths } from "../store/queue/queue_paths.ts";
import { type QueueRow, queueRows } from "../jobs/queue/queue_rows.ts";
import { type QueueOptions, submitStudy } from "../jobs/queue/submit.ts";
import { Refused } from "./refused.ts";

/** A job of a store that the board shows, with what its program said last. */
export interface BoardJob extends QueueRow {
  readonly said: readonly string[];
}

/** What drives the queues of a board; another process that drives one already goes on doing so. */
export interface Driving {
  readonly engines: (paths: QueuePaths) => Promise<readonly Engine[]>;
  readonly programOf: ProgramOf;
  /** Of each job; default: those of a study on this machine. */
  readonly slots?: Slots;
}

const MOST_WAITING = 1000;
const LINES_SHOWN = 40;
/** Ended jobs whose last words a list has. */
const ENDED_SAID = 50;
/** How often is looked whether a queue's driver has gone. */
const AGAIN_MS = 2000;

interface StoreQueue {
  readonly store: string;
  readonly paths: QueuePaths;
  readonly disk: QueueDisk;
}

/** The queues beside a board's stores. */
export class BoardQueue implements AsyncDisposable {
  readonly #queues: readonly StoreQueue[];
  readonly #ending = new AbortController();
  readonly #driven: Promise<void>[] = [];
  readonly #told = new Set<string>();

  constructor(stores: readonly string[], private readonly driving: Driving) {
    this.#queues = stores.map((store) => {
      const paths = queuePaths(store);
      return { store, paths, disk: new QueueDisk(paths.journal) };
    });
  }

  /** Begins to run what is in line. */
  drive(onTurn?: (turn: Turn) => void): void {
    for (const one of this.#queues) this.#driven.push(this.#drive(one, onTurn));
  }

  #rows(): { paths: QueuePaths; row: QueueRow }[] {
    const now = Date.now();
    return this.#queues.flatMap(({ paths, disk }) =>
      queueRows(disk.current(), paths, now).map((row) => ({ paths, row }))
    );
  }

  /** All jobs, in the sections of each queue; of what ended long ago it is not said what was said last. */
  all(): BoardJob[] {
    let ended = 0;
    return this.#rows().map(({ paths, row }) => {
      const recent = row.section !== "ended" || ended++ < ENDED_SAID;
      return { ...row, said: recent ? lastSaid(paths, row) : [] };
    });
  }

  /** The job of a study that was put in line here. */
  get(study_id: string): BoardJob | undefined {
    const found = this.#rows().find(({ row }) => row.study_id === study_id);
    return found && { ...found.row, said: lastSaid(found.paths, found.row) };
  }

  async submit(
    given: unknown,
    store: string,
    options: Omit<QueueOptions, "slots">,
  ): Promise<BoardJob> {
    const queue = this.#queues.find((one) => one.store === store)!;
    const waiting = Object.values(queue.disk.current().lines).flat().length;
    if (waiting >= MOST_WAITING) {
      throw new Refused(409, `Cannot take one more study: ${waiting} are in line already`);
    }
    const { slots } = this.driving;
    const asked = slots === undefined ? options : { ...options, slots };
    try {
      const { study_id } = await submitStudy(queue.disk, queue.paths, given, asked);
      return this.get(study_id)!;
    } catch (error) {
      // "Cannot find" is of the document here, not of an address: no 404.
      if (error instanceof UsageError) throw new Refused(400, error.message);
      throw error;
    }
  }

  /** Appends what a person asked for of a job, by its study. */
  async #ask(
    study_id: string,
    events: (queue: Queue, job_id: string, at: string) => JobEvent[],
  ): Promise<BoardJob> {
    const job = this.get(study_id);
    const queue = this.#queues.find(({ store }) => store === job?.store);
    if (job === undefined || queue === undefined) {
      throw new Refused(404, `Cannot find ${study_id} in line: it was not put there`);
    }
    const at = new Date().toISOString();
    await queue.disk.transact((now) => events(now, job.job_id, at));
    return this.get(study_id)!;
  }

  cancel(study_id: string): Promise<BoardJob> {
    return this.#ask(study_id, (queue, job_id, at) => cancelJob(queue, job_id, "on the board", at));
  }

  hold(study_id: string, reason: string): Promise<BoardJob> {
    return this.#ask(study_id, (queue, job_id, at) => holdJob(queue, job_id, reason, at));
  }

  release(study_id: string): Promise<BoardJob> {
    return this.#ask(study_id, (queue, job_id, at) => releaseJob(queue, job_id, at));
  }

  move(study_id: string, to: Place): Promise<BoardJob> {
    return this.#ask(study_id, (queue, job_id, at) => moveJob(queue, job_id, to, at));
  }

  async #driveNow(paths: QueuePaths, onTurn?: (turn: Turn) => void): Promise<void> {
    const engines = await this.driving.engines(paths);
    const { programOf } = this.driving;
    const { signal } = this.#ending;
    const heard = onTurn === undefined ? {} : { onTurn };
    await driveQueue({ paths, engines, programOf, signal, ...heard });
  }

  /** Of what goes wrong again every two seconds one line is enough. */
  readonly #tell = (error: unknown): void => {
    const said = error instanceof UsageError ? `pare: ${error.message}` : String(error);
    if (!this.#told.has(said)) console.error(error instanceof UsageError ? said : error);
    this.#told.add(said);
  };

  async #drive({ paths }: StoreQueue, onTurn?: (turn: Turn) => void): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const free = driverLock(paths);
      free?.release();
      if (free !== null) await this.#driveNow(paths, onTurn).catch(this.#tell);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, AGAIN_MS);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          resolve(null);
        }, { once: true });
      });
    }
  }

  /** Ends the driving: what runs goes on. Gives the jobs that are not over. */
  async close(): Promise<BoardJob[]> {
    this.#ending.abort();
    await Promise.all(this.#driven);
    return this.all().filter(({ section }) => section !== "ended");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function lastSaid(paths: QueuePaths, { job_id, attempt }: QueueRow): string[] {
  if (attempt === 0) return [];
  const text = logTail(attemptPaths(attemptFolder(paths, job_id, attempt)).log, LINES_SHOWN);
  return text === "" ? [] : text.split("\n");
}
