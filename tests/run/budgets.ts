/** What each job may take. A run says what took longer, loudly; it fails nothing, as the machine may
 * have had other work. */
import type { Ended, Job } from "./lanes.ts";

/** Minutes of a whole run on two cores. `gate` begins with nothing cached. */
const RUN_MINUTES: Record<string, number> = { test: 12, ok: 14, long: 23, gate: 35 };

/** Half as long again as measured, and what starting a process and a slow disk may add. */
export function budgetOf({ seconds }: Pick<Job, "seconds">): number {
  return Math.ceil(1.5 * seconds + 15);
}

/** Seconds after which a job hangs, and is ended: more than a machine with much else to do makes of it. */
export function limitOf(job: Pick<Job, "seconds">): number {
  return Math.max(15 * 60, 2 * budgetOf(job));
}

/** The name, cut where a process runs many files. */
function shortName(name: string): string {
  const [first, ...others] = name.split(" tests/");
  return others.length === 0 ? name : `${first} and ${others.length} more`;
}

/** A line a job, the longest first, then the whole run's. */
export function budgetLines(
  mode: string,
  jobs: readonly Job[],
  ended: readonly Ended[],
  run_seconds: number,
): string[] {
  const budgets = new Map(jobs.map((job) => [job.name, budgetOf(job)]));
  const line = (name: string, seconds: number, budget: number) => {
    const over = seconds > budget ? `  OVER BUDGET by ${Math.ceil(seconds - budget)} s` : "";
    return `${seconds.toFixed(0).padStart(6)} s of ${String(budget).padStart(4)} s  ${name}${over}`;
  };
  const longest = [...ended].sort((a, b) => b.seconds - a.seconds);
  const minutes = RUN_MINUTES[mode];
  return [
    ...longest.map(({ name, seconds }) => line(shortName(name), seconds, budgets.get(name)!)),
    ...(minutes === undefined ? [] : [line(`the whole run, ${mode}`, run_seconds, 60 * minutes)]),
  ];
}
