/** Drives a queue: turn after turn, by one process at a time, until it is told to stop. */
import { mkdirSync, statSync } from "node:fs";
import {
  type Engine,
  isIdle,
  type Job,
  type JobEvent,
  type Queue,
  type Turn,
  turn,
  UsageError,
} from "../../../core/mod.ts";
import { type FileLock, lockOwner, named, tryLock } from "../../../python-backends/file_lock.ts";
import { findHome } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";
import { judgeCriterion } from "./criteria.ts";
import { QueueDisk } from "../../store/queue/queue_disk.ts";
import { type ProgramOf, queueFiles } from "./queue_files.ts";
import type { QueuePaths } from "../../store/queue/queue_paths.ts";
import { QueuedWork } from "./queued_work.ts";
import { collectRoom } from "./disk_room.ts";
import type { RoomOptions } from "./watch_disk.ts";
import { watchJobs, type WatchOptions } from "./watch_jobs.ts";

export interface DriveOptions {
  readonly paths: QueuePaths;
  readonly engines: readonly Engine[];
  readonly programOf: ProgramOf;
  /** Ends the driving; what is under way goes on. */
  readonly signal: AbortSignal;
  /** Whether it ends once nothing is under way and nothing can begin. */
  readonly until_idle?: boolean;
  /** After each turn that changed something, or left something undone. */
  readonly onTurn?: (turn: Turn) => Promise<void> | void;
  /** When a job is said to get no further, and how room is made; default: half an hour, as `pare gc` does. */
  readonly watch?: Partial<WatchOptions>;
  /** Told of a job for which nothing more is done. */
  readonly onStuck?: (job_id: string, evidence: string) => void;
}

/** Engines are asked after so long where nothing happens, longer and longer. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** How soon a job that was put in line meanwhile is seen. */
const LOOK_MS = 100;

/** The lock of who drives a queue; null: another process does. */
export function driverLock({ root, driver }: QueuePaths): FileLock | null {
  mkdirSync(root, { recursive: true });
  return tryLock(driver);
}

/** The sentence where another process drives a queue. */
function drivenBy({ root }: QueuePaths, owner: ReturnType<typeof lockOwner>): UsageError {
  const who = owner === null ? "another process" : named(owner);
  return new UsageError(
    `Cannot drive the queue ${root} as ${who} does: what is added is run there`,
  );
}

/** Refuses, before engines are looked at, what another process does already. */
export function checkDriver(paths: QueuePaths): void {
  const owner = lockOwner(paths.driver);
  if (owner !== null) throw drivenBy(paths, owner);
}

/** Jobs whose criteria are to be judged by their results. */
function unjudged(queue: Queue): Job[] {
  return [...queue.jobs.values()].filter(({ state, asked, verdicts }) =>
    state === "done" &&
    asked.success.some(({ parsed }, at) => parsed !== null && verdicts[at] === null)
  );
}

async function verdictsOf({ store: root }: QueuePaths, job: Job): Promise<JobEvent[]> {
  const { study_id } = QueuedWork.parse(job.work);
  await using store = await openStore(root, { write: false });
  const events: JobEvent[] = [];
  for (const [index, criterion] of job.asked.success.entries()) {
    if (criterion.parsed === null || job.verdicts[index] !== null) continue;
    const judged = await judgeCriterion(store, study_id, criterion);
    const at = new Date().toISOString();
    events.push({ type: "criterion_judged", at, job_id: job.job_id, index, ...judged });
  }
  return events;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Waits, and no longer than until somebody appends to the journal. */
async function pause(journal: string, ms: number, signal: AbortSignal): Promise<void> {
  const size = sizeOf(journal);
  const until = performance.now() + ms;
  while (!signal.aborted && performance.now() < until && sizeOf(journal) === size) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function usualRoom({ store }: QueuePaths): RoomOptions {
  return { collect: (bytes) => collectRoom(findHome(Deno.env.toObject(), store), bytes) };
}

/** An engine that finds this queue's attempts alone: of a copy of the store it may hold jobs of the same names. */
function ofThisQueue(engine: Engine, { root }: QueuePaths): Engine {
  const find = engine.find.bind(engine);
  engine.find = async (id, attempt) =>
    (await find(id, attempt)).filter((handle) => handle.startsWith(`${root}/`));
  return engine;
}

/** @throws UsageError where another process drives this queue. */
export async function driveQueue(options: DriveOptions): Promise<void> {
  const { paths, programOf, signal, until_idle = false, onTurn, onStuck = () => {} } = options;
  using lock = driverLock(paths);
  if (lock === null) throw drivenBy(paths, lockOwner(paths.driver));
  const engines = options.engines.map((engine) => ofThisQueue(engine, paths));
  const disk = new QueueDisk(paths.journal);
  const files = queueFiles(paths, programOf, engines);
  const watch = watchJobs(paths, disk, { room: usualRoom(paths), ...options.watch });
  let wait = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    const taken = await turn({ clock: Date.now, disk, files, engines });
    let { changed } = taken;
    const undone = [...taken.undone];
    for (const job of unjudged(taken.queue)) {
      try {
        const events = await verdictsOf(paths, job);
        await disk.transact(() => events);
        changed = true;
      } catch (error) { // a store that cannot be asked now: the next turn asks again
        undone.push(
          `Cannot judge ${job.job_id}: ${error instanceof Error ? error.message : error}`,
        );
      }
    }
    try {
      const acted = await watch(taken.queue);
      changed ||= acted.length > 0;
      for (const one of acted) {
        if (one.type === "acted" && one.remedy === "told") onStuck(one.job_id, one.evidence);
      }
    } catch (error) { // what it looks at may be gone or held: it looks again
      undone.push(`Cannot watch what runs: ${error instanceof Error ? error.message : error}`);
    }
    if (changed || undone.length > 0) await onTurn?.({ ...taken, undone });
    if (until_idle && !changed && isIdle(taken, Date.now())) return;
    wait = changed ? FIRST_PAUSE_MS : Math.min(1.5 * wait, LONGEST_PAUSE_MS);
    await pause(paths.journal, changed ? LOOK_MS : wait, signal);
  }
}
