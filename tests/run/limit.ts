/**
 * A run that must end in time, as a machine of a gate has a limit: the slow parts come last, and what
 * would begin too late is left out and named, so that everything else still counts.
 */
import type { Job } from "./lanes.ts";

/** Minutes after which no slow part begins, as PARE_RUN_MINUTES says; null: they take what they take. */
export function minutesOfRun(value = Deno.env.get("PARE_RUN_MINUTES")): number | null {
  if (value === undefined || value === "") return null;
  const minutes = Number(value);
  if (minutes > 0) return minutes;
  throw new Error(`Cannot run the tests within PARE_RUN_MINUTES="${value}": say a number above 0`);
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
