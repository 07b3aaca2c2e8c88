/**
 * What people ask of a queue, as the events of one transaction. What cannot be is a UsageError, and
 * nothing is appended.
 */
import { unknownOfMany, UsageError } from "../errors.ts";
import { type JobEvent, type Priority, Submission } from "./events.ts";
import { attemptOf, type Job, type Queue } from "./queue_state.ts";

/** A queue's first event. `queue_id`: eight random hex digits. */
export function openQueue(queue: Queue, queue_id: string, at: string): JobEvent[] {
  return queue.queue_id === null ? [{ type: "queue_opened", at, queue_id }] : [];
}

function jobNumber(number: number): string {
  return `EXP-${String(number).padStart(3, "0")}`;
}

/** The job that a person names; an unknown one is refused. */
export function jobNamed(queue: Queue, job_id: string): Job {
  const job = queue.jobs.get(job_id);
  if (job !== undefined) return job;
  const known = [...queue.jobs.keys()];
  throw new UsageError(
    known.length === 0
      ? `There is no job "${job_id}": the queue is empty`
      : unknownOfMany("job", job_id, known, "pare queue list"),
  );
}

function openNamed(queue: Queue, job_id: string, wish: string): Job {
  const job = jobNamed(queue, job_id);
  if (job.ended === null) return job;
  throw new UsageError(`Cannot ${wish} ${job_id}: it is ${job.state} (${job.reason})`);
}

function refuseSlots({ slots, title }: Submission): void {
  if (slots.cpu > 0 || slots.gpu > 0) return;
  throw new UsageError(
    `Cannot queue "${title}" as it asks for 0 CPU and 0 cards: ask for one of them`,
  );
}

/** Adds a job under the next number; of a submission that is there already nothing. */
export function submitJob(queue: Queue, submission: Submission, at: string): JobEvent[] {
  const asked = Submission.parse(submission);
  if (queue.submissions.has(asked.submission_id)) return [];
  for (const { job_id, met } of asked.after) {
    if (met && jobNamed(queue, job_id).asked.success.length === 0) {
      throw new UsageError(
        `Cannot queue "${asked.title}" after ${job_id} has met its success criteria: it has none`,
      );
    }
    jobNamed(queue, job_id);
  }
  refuseSlots(asked);
  return [{ type: "submitted", at, job_id: jobNumber(queue.jobs.size + 1), ...asked }];
}

export interface Place {
  /** Null: the one it has. */
  readonly priority: Priority | null;
  /** The job it is to stand before; null: the end of its priority's line. */
  readonly before: string | null;
}

export function moveJob(queue: Queue, job_id: string, to: Place, at: string): JobEvent[] {
  const job = openNamed(queue, job_id, "move");
  const other = to.before === null ? null : openNamed(queue, to.before, "move a job before");
  const priority = to.priority ?? other?.priority ?? job.priority;
  if (other !== null && other.priority !== priority) {
    throw new UsageError(
      `Cannot move ${job_id} to ${priority} before ${other.job_id}, which is ${other.priority}`,
    );
  }
  return other === job ? [] : [{ type: "moved", at, job_id, priority, before: to.before }];
}

/** No attempt of it begins until it is released; one under way that may be saved is saved. */
export function holdJob(queue: Queue, job_id: string, reason: string, at: string): JobEvent[] {
  const job = openNamed(queue, job_id, "hold");
  const attempt = attemptOf(job);
  const held: JobEvent = { type: "held", at, job_id, reason };
  if (attempt === null || attempt.stop !== null || !job.asked.may_be_saved) return [held];
  const save = { attempt: attempt.number, reason: `held: ${reason}`, for_job: null };
  return [held, { type: "save_asked", at, job_id, ...save }];
}

/** Ends a hold, and looks again for what was missing. */
export function releaseJob(queue: Queue, job_id: string, at: string): JobEvent[] {
  openNamed(queue, job_id, "release");
  return [{ type: "released", at, job_id }];
}

export function cancelJob(queue: Queue, job_id: string, reason: string, at: string): JobEvent[] {
  const job = openNamed(queue, job_id, "cancel");
  return job.state === "cancelling" ? [] : [{ type: "cancel_asked", at, job_id, reason }];
}

/** It may begin even where it cannot end within the compute budget. */
export function tellAnyway(queue: Queue, job_id: string, at: string): JobEvent[] {
  return openNamed(queue, job_id, "begin").anyway ? [] : [{ type: "told_anyway", at, job_id }];
}
