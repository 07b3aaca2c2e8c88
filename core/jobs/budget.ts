/**
 * Compute budgets. An hour is an hour of each card that is held, or of wall time where none is; of a
 * kind of machine, of a study, of both, or of all.
 */
import { addPrice, attemptPrice } from "./actions.ts";
import { secondsToCome } from "./estimate.ts";
import { attemptOf, type BudgetLimit, chargeOf, type Job, type JobAttempt } from "./queue_state.ts";
import type { Queue } from "./queue_state.ts";

/** A limit with what it has seen. Hours. */
export interface BudgetRow extends BudgetLimit {
  readonly spent: number;
  /** Of attempts under way: what they have had. */
  readonly had: number;
  /** Of these: what they are expected to have in all. */
  readonly under_way: number;
  /** Of jobs in line: what they are expected to have. */
  readonly waiting: number;
  /** What its attempts have cost, in the user's currency; null: no price is said of any. */
  readonly price: number | null;
  /** Hours that nobody has and no rerun is kept for; below 0: more is allocated than there is. */
  readonly left: number;
}

function covers(limit: BudgetLimit, machine: string | null, study: string | null): boolean {
  return (limit.machine === null || machine === null || limit.machine === machine) &&
    (limit.study === null || limit.study === study);
}

/** Seconds charged for an attempt up to now. */
function chargedSeconds({ began, slots }: JobAttempt, now: number): number {
  return began === null ? 0 : (now - began) / 1000 * chargeOf(slots);
}

/** What the under way of a limit have had, and are expected to have in all. Seconds. */
function underWay(queue: Queue, limit: BudgetLimit, now: number): { had: number; all: number } {
  let [had, all] = [0, 0];
  for (const job of queue.under_way.values()) {
    const attempt = attemptOf(job)!;
    if (!covers(limit, attempt.machine, job.asked.study)) continue;
    const charged = chargedSeconds(attempt, now);
    had += charged;
    all += Math.max(charged, secondsToCome(queue, job) * chargeOf(attempt.slots));
  }
  return { had, all };
}

function spentSeconds(queue: Queue, limit: BudgetLimit): number {
  let sum = 0;
  for (const { machine, study, seconds } of queue.spent.values()) {
    if (covers(limit, machine, study)) sum += seconds;
  }
  return sum;
}

function priceUnder(queue: Queue, limit: BudgetLimit, now: number): number | null {
  let price: number | null = null;
  for (const { machine, study, price: paid } of queue.spent.values()) {
    if (covers(limit, machine, study)) price = addPrice(price, paid);
  }
  for (const job of queue.under_way.values()) {
    const attempt = attemptOf(job)!;
    if (!covers(limit, attempt.machine, job.asked.study)) continue;
    price = addPrice(price, attemptPrice(attempt, now));
  }
  return price;
}

/** The table of all budgets, for people. */
export function budgetRows(queue: Queue, now: number): BudgetRow[] {
  return queue.budgets.map((limit) => {
    const spent = spentSeconds(queue, limit) / 3600;
    const { had, all } = underWay(queue, limit, now);
    const under_way = all / 3600;
    const waiting = Object.values(queue.lines).flat()
      .filter((job) => job.state === "waiting" && covers(limit, null, job.asked.study))
      .reduce((sum, job) => sum + secondsToCome(queue, job) * chargeOf(job.slots) / 3600, 0);
    const left = limit.hours - limit.reserve_hours - spent - under_way - waiting;
    const price = priceUnder(queue, limit, now);
    return { ...limit, spent, had: had / 3600, under_way, waiting, price, left };
  });
}

/** Jobs under way whose budget is spent, each with the reason. */
export function overspent(queue: Queue, now: number): { job: Job; reason: string }[] {
  return queue.budgets.flatMap((limit) => {
    const spent = spentSeconds(queue, limit) + underWay(queue, limit, now).had;
    if (spent < limit.hours * 3600) return [];
    const reason = `the compute budget of ${limitText(limit)} is spent`;
    return [...queue.under_way.values()]
      .filter((job) => !job.anyway && covers(limit, attemptOf(job)!.machine, job.asked.study))
      .map((job) => ({ job, reason }));
  });
}

function limitText({ hours, machine, study }: BudgetLimit): string {
  const on = machine === null ? "" : ` of ${machine}`;
  return `${hours} h${on}${study === null ? "" : ` for study ${study}`}`;
}

/** A job would not end within a limit. Seconds. */
export interface Refusal {
  readonly limit: BudgetLimit;
  readonly open: number;
  readonly takes: number;
}

export function refusalText({ limit, open, takes }: Refusal): string {
  const hours = (seconds: number) => (Math.max(0, seconds) / 3600).toFixed(1);
  return `would not end within the compute budget of ${limitText(limit)}: ` +
    `${hours(open)} h are left, and it takes about ${hours(takes)} h`;
}

/** What is still to be given out while jobs are planned: each one that is planned takes its share. */
export class OpenBudgets {
  readonly #open: { limit: BudgetLimit; left: number }[];

  constructor(readonly queue: Queue, now: number) {
    this.#open = queue.budgets.map((limit) => ({
      limit,
      left: limit.hours * 3600 - spentSeconds(queue, limit) - underWay(queue, limit, now).all,
    }));
  }

  /** What keeps a job from beginning on a kind of machine; null: nothing does. */
  refusal(job: Job, machine: string): Refusal | null {
    if (job.anyway || this.#open.length === 0) return null;
    const takes = secondsToCome(this.queue, job) * chargeOf(job.slots);
    const first = job.retries === 0 && job.attempts.length === 0;
    for (const { limit, left } of this.#open) {
      if (!covers(limit, machine, job.asked.study)) continue;
      const open = left - (first ? limit.reserve_hours * 3600 : 0);
      if (takes > open) return { limit, open, takes };
    }
    return null;
  }

  take(job: Job, machine: string): void {
    if (this.#open.length === 0) return;
    const takes = secondsToCome(this.queue, job) * chargeOf(job.slots);
    for (const one of this.#open) {
      if (covers(one.limit, machine, job.asked.study)) one.left -= takes;
    }
  }
}
