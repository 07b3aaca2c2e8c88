/** How long jobs take. */
import { type Durations, type Job, type JobAttempt, type Queue } from "./queue_state.ts";

/** Hours by kind of work before one was measured: the field's rules of thumb for one A100. */
const STARTING_HOURS: Readonly<Record<string, number>> = {
  task: 0.5,
  longbench: 8,
  ruler: 4,
  grid: 25,
};

/** Where nothing else is known: a single task in a single configuration. */
const USUAL_HOURS = STARTING_HOURS["task"]!;

/** One job tells nothing of the spread: another one of its kind took up to twice or half, say. */
const UNKNOWN_SPREAD = Math.LN2;

export interface Estimate {
  readonly seconds: number;
  /** Standard deviation of the logarithm of such jobs' seconds; null: nothing was measured. */
  readonly spread: number | null;
  /** `measured`: by `jobs` earlier ones; `said`: by a person; `budget`: its own limit of time. */
  readonly source: "measured" | "said" | "budget" | "usual";
  readonly jobs: number;
}

function measured(queue: Queue, { takes_as }: Job): Durations | undefined {
  return queue.durations.get(takes_as);
}

/**
 * What a whole job takes: the geometric mean of done ones of its kind and size; with none of these what
 * was submitted; then what is usual.
 */
function wholeSeconds(queue: Queue, job: Job): number {
  const known = measured(queue, job);
  if (known !== undefined) return Math.exp(known.sum / known.jobs);
  const { estimate_seconds, work_kind } = job.asked;
  return estimate_seconds ?? (STARTING_HOURS[work_kind] ?? USUAL_HOURS) * 3600;
}

/** What a whole job takes, and how that is known. */
export function estimateOf(queue: Queue, job: Job): Estimate {
  const seconds = wholeSeconds(queue, job);
  const known = measured(queue, job);
  if (known !== undefined) {
    const { jobs, sum, squares } = known;
    const mean = sum / jobs;
    const variance = jobs > 1 ? Math.max(0, squares - jobs * mean * mean) / (jobs - 1) : null;
    const spread = variance === null ? UNKNOWN_SPREAD : Math.sqrt(variance);
    return { seconds, spread, source: "measured", jobs };
  }
  const { estimate_seconds, estimate_source } = job.asked;
  const source = estimate_seconds === null ? "usual" : estimate_source ?? "said";
  return { seconds, spread: null, source, jobs: 0 };
}

/** Of what it takes, at least this share is still to come where it was saved before. */
const LEAST_SHARE = 0.1;

/** Seconds that the next attempt of a job takes. */
export function secondsToCome(queue: Queue, job: Job): number {
  const seconds = wholeSeconds(queue, job);
  return Math.max(seconds - job.saved_seconds, LEAST_SHARE * seconds);
}

/**
 * Seconds that an attempt under way still takes. Its progress corrects the estimate: what is left at
 * its own pace counts by the share that is done. One that is over its time takes a tenth of that more.
 */
export function secondsLeft(
  queue: Queue,
  job: Job,
  attempt: JobAttempt,
  at: { now: number; progress: number | null },
): number {
  const expected = secondsToCome(queue, job);
  if (attempt.began === null) return expected;
  const past = (at.now - attempt.began) / 1000;
  const left = Math.max(expected - past, LEAST_SHARE * past);
  const { progress } = at;
  if (progress === null || progress <= 0 || past <= 0) return left;
  const whole = (past + job.saved_seconds) / Math.min(progress, 1);
  return progress * (whole * (1 - Math.min(progress, 1))) + (1 - progress) * left;
}
