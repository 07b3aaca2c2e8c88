/**
 * A run that must end in time, as a machine of a gate has a limit: the slow parts come last, and what
 * would begin too late is left out and named, so that everything else still counts.
 */
import type { Job } from "./lanes.ts";

/** Multiples of it fall evenly between 0 and 1, whatever their number. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Minutes after which no slow part begins, as PARE_RUN_MINUTES says; null: they take what they take. */
export function minutesOfRun(value = Deno.env.get("PARE_RUN_MINUTES")): number | null {
  if (value === undefined || value === "") return null;
  const minutes = Number(value);
  if (minutes > 0) return minutes;
  throw new Error(`Cannot run the tests within PARE_RUN_MINUTES="${value}": say a number above 0`);
}

/** After the last slow part has begun: for it to end, and for what failed to be tried again. */
const MORE_MINUTES = 22;

/** Until a run must have ended, after so many seconds of it (this process is the run); without a limit it
 * need not. */
export function secondsLeft(
  seconds = performance.now() / 1000,
  minutes = minutesOfRun(),
): number {
  return minutes === null ? Infinity : Math.max(0, 60 * (minutes + MORE_MINUTES) - seconds);
}

/**
 * The same jobs in another order each day: where the time is over before all have begun, it is not the
 * same ones that are left out again and again.
 */
export function inTurn(jobs: readonly Job[], day = Math.floor(Date.now() / 86_400_000)): Job[] {
  const sorted = [...jobs].sort((a, b) => a.name < b.name ? -1 : 1);
  const first = Math.floor(sorted.length * ((day * GOLDEN) % 1));
  return [...sorted.slice(first), ...sorted.slice(0, first)];
}

/** The same jobs; each is left out where it would begin later than so many seconds from now. */
export function begunWithin(
  jobs: readonly Job[],
  seconds: number,
  now: () => number = () => performance.now() / 1000,
): Job[] {
  const until = now() + seconds;
  return jobs.map((job) => ({
    ...job,
    async run() {
      if (now() <= until) return await job.run();
      const reason = `${(seconds / 60).toFixed(0)} minutes were over before they began ` +
        "(PARE_RUN_MINUTES): deno task test:long has them all";
      const counts = { passed: 0, failed: 0, skipped: [{ reason, count: 1 }] };
      return { counts, output: `NOT RUN: ${job.name}: ${reason}` };
    },
  }));
}
