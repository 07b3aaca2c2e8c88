import { type Eta, forecastQueue } from "./eta.ts";
import { planLine } from "./plan.ts";
import { attemptOf, type Job, type JobAttempt, type Queue } from "./queue_state.ts";
import { passing, type Wait } from "./waits.ts";

export interface ListedJob {
  readonly job: Job;
  /** The one under way; null: it waits. */
  readonly attempt: JobAttempt | null;
  /** Why it waits; null: it is under way. */
  readonly wait: Wait | null;
  /** Null: nobody can say. */
  readonly eta: Eta | null;
}

/** Jobs that are not over, in the sections in which people read them. */
export interface QueueList {
  /** With an attempt, in the order in which these were planned. */
  readonly running: readonly ListedJob[];
  /** In the order in which they go. */
  readonly queued: readonly ListedJob[];
  /** What does not begin before something else happens. */
  readonly blocked: readonly ListedJob[];
}

const NEXT = passing("begins with the next turn of the queue");

/** `progress`: of jobs under way, from 0 to 1. */
export function listQueue(
  queue: Queue,
  now: number,
  progress: ReadonlyMap<string, number>,
): QueueList {
  const waits = new Map<Job, Wait>();
  planLine(queue, now, (job, wait) => waits.set(job, wait));
  const etas = forecastQueue(queue, now, progress);
  const listed = (job: Job): ListedJob => {
    const attempt = attemptOf(job);
    const wait = attempt === null ? waits.get(job) ?? NEXT : null;
    return { job, attempt, wait, eta: etas.get(job.job_id) ?? null };
  };
  const open = [...queue.lines.P0, ...queue.lines.P1, ...queue.lines.P2].map(listed);
  const waiting = open.filter(({ wait }) => wait !== null);
  return {
    running: [...queue.under_way.values()].map(listed),
    queued: waiting.filter(({ wait }) => !wait!.blocked),
    blocked: waiting.filter(({ wait }) => wait!.blocked),
  };
}
