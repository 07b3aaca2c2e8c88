/**
 * What observations make of attempts under way. Of each attempt its folder decides:
 *
 * | its folder            | what it means                                                           |
 * |-----------------------|-------------------------------------------------------------------------|
 * | a result              | it ended as the result says, whatever else is said of it                |
 * | the lease is fresh    | somebody works on it, even where its engine says that it is over          |
 * | the lease is stale    | its holder is gone without a result: it is lost                           |
 * | the lease is closed   | nobody began it and nobody can any more: it is taken back, or its start was lost |
 * | nothing               | it has not begun; what to do about that is instructions.ts's                 |
 *
 * So no attempt is given up while somebody may still work on it, and no two of one job work at once.
 *
 * An attempt that was lost is tried again, and one that failed by what may pass; one minute later, then
 * four, then sixteen, and then its job has failed. Every other failure, such as code 2 (what it was
 * asked is wrong), would only be repeated: its job has failed, unless somebody finds a remedy.
 */
import { overspent } from "./budget.ts";
import type { Capacity, EngineState, Slots } from "./engine.ts";
import type { AttemptEnded, JobEvent } from "./events.ts";
import { momentText } from "./moments.ts";
import type { AttemptResult, AttemptSeen } from "./ports.ts";
import {
  attemptOf,
  type Job,
  type JobAttempt,
  type KnownEngine,
  type Queue,
  RETRIES,
} from "./queue_state.ts";
import { minus } from "./slots.ts";

const FIRST_DELAY_SECONDS = 60;
const DELAY_GROWS = 4;
/** An attempt that saves itself unasked was stopped by somebody, who may still be about it. */
const UNASKED_DELAY_SECONDS = 60;

/** What one turn saw of an attempt. */
export interface SeenAttempt {
  readonly attempt: number;
  readonly files: AttemptSeen;
  /** Null: its engine has no handle of it yet, or did not answer. */
  readonly engine: EngineState | null;
}

/** What one turn saw. */
export interface Observed {
  /** By name: all that are here. A sentence: why it did not answer. */
  readonly engines: ReadonlyMap<string, Capacity | string>;
  /** Of the attempts under way that were looked at, by job. */
  readonly attempts: ReadonlyMap<string, SeenAttempt>;
}

type Ending = Pick<
  AttemptEnded,
  "how" | "code" | "reason" | "seconds" | "next" | "not_before"
>;

/** A moment by a machine's own clock, which may be wrong: not before what it follows, nor later than it is seen. */
function moment(own: number | undefined, after: number, now: number): number {
  return Math.max(after, Math.min(own ?? now, now));
}

/** A further attempt later, or the job's failure after too many. */
function again(
  job: Job,
  reason: string,
  now: number,
): Pick<Ending, "next" | "not_before" | "reason"> {
  if (job.retries >= RETRIES) {
    const told = `${reason}; it was tried ${job.retries + 1} times`;
    return { next: "failed", not_before: null, reason: told };
  }
  const delay = FIRST_DELAY_SECONDS * DELAY_GROWS ** job.retries;
  return { next: "again", not_before: momentText(now + 1000 * delay), reason };
}

function endByResult(job: Job, attempt: JobAttempt, result: AttemptResult, now: number): Ending {
  const { how, code, reason, seconds, passing } = result;
  const ending = { how, code, reason, seconds, not_before: null };
  if (how === "done") return { ...ending, next: "done" };
  if (attempt.stop?.what === "cancel" || how === "cancelled") {
    return { ...ending, next: "cancelled" };
  }
  if (how === "failed") {
    return passing && code !== 2
      ? { ...ending, ...again(job, reason, now) }
      : { ...ending, next: "failed" };
  }
  const asked = attempt.stop !== null;
  const not_before = asked ? null : momentText(now + 1000 * UNASKED_DELAY_SECONDS);
  return { ...ending, next: "again", not_before };
}

function engineSays(state: EngineState | null): string {
  if (state === null) return "its engine gives no answer";
  if (state.state !== "ended") return `its engine says ${state.state}`;
  const code = state.code === null ? "" : ` ${state.code}`;
  return `its engine says ${state.how}${code}`;
}

/** It is over without a result: nobody holds it, and nobody can begin it. */
function endWithoutResult(
  job: Job,
  attempt: JobAttempt,
  { files, engine }: SeenAttempt,
  now: number,
): Ending {
  const { began } = attempt;
  const seconds = began === null ? 0 : (moment(files.ended, began, now) - began) / 1000;
  const code = engine?.state === "ended" ? engine.code : null;
  const ending = { code, seconds, not_before: null };
  const { stop } = attempt;
  if (stop?.what === "cancel") {
    return { ...ending, how: "cancelled", reason: stop.reason, next: "cancelled" };
  }
  if (files.lease === "closed" && (stop !== null || engine === null)) {
    const reason = stop?.reason ?? `engine ${attempt.engine} did not answer before it began`;
    return { ...ending, how: "withdrawn", reason, next: "again" };
  }
  if (stop !== null) {
    return {
      ...ending,
      how: "withdrawn",
      reason: `${stop.reason}; it kept nothing`,
      next: "again",
    };
  }
  const gone = files.lease === "stale" ? "it vanished without a result" : "it never began";
  const reason = `${gone}: ${engineSays(engine)}`;
  return { ...ending, how: "lost", ...again(job, reason, now) };
}

/** What an attempt's folder makes of it. */
function settleAttempt(job: Job, attempt: JobAttempt, seen: SeenAttempt, now: number): JobEvent[] {
  const { files: { result, lease, began: own_began, ended }, engine } = seen;
  const open = result === null && (lease === "fresh" || lease === "none");
  if (open && (lease === "none" || attempt.began !== null)) return [];
  const key = { at: momentText(now), job_id: job.job_id, attempt: attempt.number };
  const start = attempt.began ?? moment(own_began, attempt.planned, now);
  const began: JobEvent[] = attempt.began === null && (lease === "fresh" || result !== null)
    ? [{ type: "attempt_began", ...key, began: momentText(start) }]
    : [];
  if (open) return began;
  const ending = result === null
    ? endWithoutResult(job, attempt, seen, now)
    : endByResult(job, attempt, result, now);
  const alive = engine === null || engine.state === "queued" || engine.state === "running";
  const left_behind = result === null && alive; // without a handle, too: its answer may have been lost
  const over = momentText(moment(ended, start, now));
  return [...began, { type: "attempt_ended", ...key, ended: over, left_behind, ...ending }];
}

function sameSlots(a: Slots, b: Slots): boolean {
  return a.cpu === b.cpu && a.gpu === b.gpu && a.memory_gb === b.memory_gb;
}

/** Slots of an engine that nothing of this queue holds. */
function othersOn(queue: Queue, name: string, { total, free }: Capacity, seen: Observed): Slots {
  let taken = minus(total, free);
  for (const [job_id, { attempt: number, engine }] of seen.attempts) {
    const attempt = queue.jobs.get(job_id)!.attempts[number - 1]!; // it may be over since it was seen
    if (attempt.engine === name && engine?.state === "running") taken = minus(taken, attempt.slots);
  }
  // Of an attempt that its engine has just begun, it may say either: it is not counted twice.
  const left = minus(total, queue.engines.get(name)?.used ?? { cpu: 0, gpu: 0, memory_gb: 0 });
  const within = (slots: number, most: number) => Math.max(0, Math.min(slots, most));
  const memory_gb = taken.memory_gb === null
    ? null
    : within(taken.memory_gb, left.memory_gb ?? Infinity);
  return { cpu: within(taken.cpu, left.cpu), gpu: within(taken.gpu, left.gpu), memory_gb };
}

function settleEngine(
  queue: Queue,
  [name, answer]: [string, Capacity | string],
  seen: Observed,
  now: number,
): JobEvent[] {
  const known: KnownEngine | undefined = queue.engines.get(name);
  if (typeof answer === "string") {
    if (known !== undefined && known.down !== null) return [];
    return [{ type: "engine_down", at: momentText(now), engine: name, reason: answer }];
  }
  const { machine, total, largest, price_per_hour = null } = answer;
  const others = othersOn(queue, name, answer, seen);
  const same = known !== undefined && known.down === null && known.machine === machine &&
    sameSlots(known.total, total) && sameSlots(known.largest, largest) &&
    sameSlots(known.others, others) && known.price_per_hour === price_per_hour;
  if (same) return [];
  const at = momentText(now);
  const now_is = { machine, total, largest, others, price_per_hour };
  return [{ type: "engine_seen", at, engine: name, ...now_is }];
}

/** Attempts whose budget is spent are saved, or where that cannot be, ended. */
function settleBudgets(queue: Queue, now: number): JobEvent[] {
  return overspent(queue, now).flatMap(({ job, reason }): JobEvent[] => {
    const attempt = attemptOf(job)!;
    const key = { at: momentText(now), job_id: job.job_id };
    if (attempt.stop !== null) return [];
    return job.asked.may_be_saved
      ? [{ type: "save_asked", ...key, attempt: attempt.number, reason, for_job: null }]
      : [{ type: "cancel_asked", ...key, reason }];
  });
}

/** The events that follow from what was seen; none: it changes nothing. */
export function settle(queue: Queue, seen: Observed, now: number): JobEvent[] {
  const events: JobEvent[] = [];
  for (const one of seen.engines) events.push(...settleEngine(queue, one, seen, now));
  for (const { name, down } of queue.engines.values()) {
    if (down !== null || seen.engines.has(name)) continue;
    const reason = "it is not among the engines here";
    events.push({ type: "engine_down", at: momentText(now), engine: name, reason });
  }
  for (const [job_id, one] of seen.attempts) {
    const job = queue.under_way.get(job_id);
    const attempt = job === undefined ? null : attemptOf(job);
    if (attempt?.number !== one.attempt) continue;
    events.push(...settleAttempt(job!, attempt, one, now));
  }
  if (queue.budgets.length > 0) events.push(...settleBudgets(queue, now));
  return events;
}
