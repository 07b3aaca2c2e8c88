/**
 * A queue as its events made it.
 *
 * | state      | how a job comes to it                                                          |
 * |------------|--------------------------------------------------------------------------------|
 * | waiting    | submitted; or its attempt was saved, withdrawn or lost and another one follows; or it failed and a remedy was found |
 * | submitted  | from waiting: an attempt is planned, its slots are kept for it                   |
 * | running    | from submitted: its program has begun                                            |
 * | saving     | from submitted or running: it was asked to end in good order                     |
 * | cancelling | from submitted, running or saving: a person wants its end                        |
 * | done       | from any with an attempt: its result says so                                     |
 * | failed     | from any with an attempt: its result says so, or it was lost too often           |
 * | cancelled  | from waiting at once; from cancelling once its attempt has ended                 |
 *
 * An event that comes too late or twice changes nothing: two processes may have seen the same.
 */
import type { Slots } from "./engine.ts";
import type { End, Priority, Remedy, Submission } from "./events.ts";

export type JobState =
  | "waiting"
  | "submitted"
  | "running"
  | "saving"
  | "cancelling"
  | "done"
  | "failed"
  | "cancelled";

/** Times of a queue are milliseconds since 1970; events tell them as ISO texts. */
export interface JobAttempt {
  readonly number: number;
  readonly engine: string;
  /** Kind of machine. */
  readonly machine: string;
  readonly slots: Slots;
  /** Of its share of the engine's slots, in the user's currency; null: nobody said. */
  readonly price_per_hour: number | null;
  /** Null: the engine has not said yet that it took it. */
  readonly handle: string | null;
  readonly planned: number;
  readonly began: number | null;
  readonly ended: number | null;
  readonly how: End | null;
  readonly code: number | null;
  /** Why it was planned, and once it is over, how it ended. */
  readonly reason: string;
  readonly seconds: number | null;
  readonly stop: AttemptStop | null;
  /** It is over, and its engine is still to be told. */
  readonly left_behind: boolean;
}

/** That an attempt is to end. */
export interface AttemptStop {
  readonly what: "save" | "cancel";
  readonly asked: number;
  /** When the engine took it on last; null: not yet. */
  readonly told: number | null;
  readonly reason: string;
  /** That its slots go to; null: to none. */
  readonly for_job: string | null;
}

/** What was done about an attempt without a person. */
export interface JobAction {
  readonly at: number;
  readonly attempt: number;
  /** What was seen, such as `no progress`. */
  readonly condition: string;
  readonly evidence: string;
  readonly remedy: Remedy;
  /** How often it is done; null: it has no limit. */
  readonly limit: string | null;
}

export type Verdict = "met" | "not_met" | "undecided";

export interface Job {
  readonly job_id: string;
  /** As it was submitted; what changed since stands beside it. */
  readonly asked: Submission;
  readonly submitted: number;
  /** `sizeKey` of its kind and size. */
  readonly takes_as: string;
  readonly priority: Priority;
  readonly work: Submission["work"];
  readonly slots: Slots;
  readonly anyway: boolean;
  readonly state: JobState;
  /** Why it is in this state; a waiting job's own is `whyWaiting`'s. */
  readonly reason: string;
  /** Why a person holds it; null: nobody does. */
  readonly held: string | null;
  /** What a machine found missing; null: nothing. */
  readonly missing: string | null;
  /** No attempt before this; null: at any time. */
  readonly not_before: number | null;
  readonly attempts: readonly JobAttempt[];
  /** Attempts that were lost or failed, and followed by another one, since it was last saved. */
  readonly retries: number;
  /** Seconds of its attempts that were saved: they need not be done again. */
  readonly saved_seconds: number;
  /** Jobs behind it that began while it waited for slots. */
  readonly passed: number;
  /** Of each criterion, in their order. */
  readonly verdicts: readonly (Verdict | null)[];
  /** Why, of each criterion that was judged. */
  readonly judged: readonly (string | null)[];
  /** In the order in which they were taken. */
  readonly actions: readonly JobAction[];
  readonly ended: number | null;
}

/** An engine as it was last seen. */
export interface KnownEngine {
  readonly name: string;
  readonly machine: string;
  readonly total: Slots;
  readonly largest: Slots;
  /** Taken by what is not of this queue. */
  readonly others: Slots;
  /** Held by attempts of this queue that are not over. */
  readonly used: Slots;
  /** Of all its slots; null: nobody said. */
  readonly price_per_hour: number | null;
  /** Why it does not answer, and since when; null: it does. */
  readonly down: { readonly reason: string; readonly since: number } | null;
}

/** Hours that may be spent. */
export interface BudgetLimit {
  readonly machine: string | null;
  readonly study: string | null;
  readonly hours: number;
  readonly reserve_hours: number;
}

/** What attempts that are over took of a kind of machine, for a study. */
export interface Charged {
  readonly machine: string;
  readonly study: string | null;
  readonly seconds: number;
  /** What they have cost, in the user's currency; null: no price is said of any. */
  readonly price: number | null;
}

/** What jobs of one kind and size took: sums over the logarithms of their seconds. */
export interface Durations {
  readonly jobs: number;
  readonly sum: number;
  readonly squares: number;
}

export interface Queue {
  /** Null: nobody opened it yet. */
  readonly queue_id: string | null;
  /** Events it is made of. */
  readonly events: number;
  /** By id, in the order of their numbers. */
  readonly jobs: ReadonlyMap<string, Job>;
  /** Submission to the job it made. */
  readonly submissions: ReadonlyMap<string, string>;
  /** Jobs that are not over, in the order in which they go; those under way keep their places. */
  readonly lines: Readonly<Record<Priority, readonly Job[]>>;
  /** Jobs with an attempt that is not over, by id. */
  readonly under_way: ReadonlyMap<string, Job>;
  /** Jobs with an attempt that is over without its engine having been told. */
  readonly left_behind: ReadonlyMap<string, Job>;
  readonly engines: ReadonlyMap<string, KnownEngine>;
  readonly budgets: readonly BudgetLimit[];
  /** By `chargeKey` of machine and study. */
  readonly spent: ReadonlyMap<string, Charged>;
  /** By `sizeKey` of kind and size. */
  readonly durations: ReadonlyMap<string, Durations>;
}

export function emptyQueue(): Queue {
  return {
    queue_id: null,
    events: 0,
    jobs: new Map(),
    submissions: new Map(),
    lines: { P0: [], P1: [], P2: [] },
    under_way: new Map(),
    left_behind: new Map(),
    engines: new Map(),
    budgets: [],
    spent: new Map(),
    durations: new Map(),
  };
}

/** How often an attempt that was lost, or failed by what may pass, is followed by another one. */
export const RETRIES = 3;

export function chargeKey(machine: string, study: string | null): string {
  return `${machine}\n${study ?? ""}`;
}

export function sizeKey(work_kind: string, size: string): string {
  return `${work_kind}\n${size}`;
}

/** Slot seconds that an attempt is charged for a second: of each card, or of wall time without any. */
export function chargeOf(slots: Slots): number {
  return Math.max(1, slots.gpu);
}

/** The attempt that is not over; null: there is none. */
export function attemptOf(job: Job): JobAttempt | null {
  const last = job.attempts.at(-1);
  return last === undefined || last.ended !== null ? null : last;
}
