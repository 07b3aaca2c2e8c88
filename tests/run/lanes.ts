import type { Counts } from "./counts.ts";

/** Part of the suite, run by itself. */
export interface Job {
  readonly name: string;
  /** Seconds that it takes where nothing is in its way, as measured. */
  readonly seconds: number;
  /** What must be there first, such as an environment; where that cannot be had, the job fails. */
  readonly after?: Promise<unknown>;
  /** It sleeps most of its time: for leases to end, for a cluster's ticks. */
  readonly waits?: boolean;
  /** Its counts, and what it printed. */
  readonly run: () => Promise<{ counts: Counts; output: string }>;
}

/** A job that has ended. */
export interface Ended {
  readonly name: string;
  readonly counts: Counts;
  readonly output: string;
  readonly seconds: number;
}

/**
 * Runs jobs side by side. A lane that is free takes the first one whose needs are there, so it idles
 * only where all that is left waits. One lane more has those that sleep most of their time, which leave
 * the cores to the others. Each is told when it has ended.
 */
export async function runInLanes(
  jobs: readonly Job[],
  lanes: number,
  onEnded: (ended: Ended) => void,
): Promise<Counts[]> {
  const waiting = [...jobs];
  const ready = new Map<Job, string | null>();
  const wakes = new Set<() => void>();
  for (const job of jobs) {
    const told = (obstacle: string | null) => {
      ready.set(job, obstacle);
      for (const wake of wakes) wake();
    };
    (job.after ?? Promise.resolve()).then(() => told(null), (error) => told(String(error)));
  }
  const all: Counts[] = [];
  const lane = async (own: (job: Job) => boolean) => {
    while (waiting.some(own)) {
      const next = waiting.findIndex((job) => ready.has(job) && own(job));
      if (next < 0) {
        await new Promise<void>((wake) => wakes.add(wake));
        continue;
      }
      const [job] = waiting.splice(next, 1);
      const started = performance.now();
      const { counts, output } = await runJob(job!, ready.get(job!) ?? null);
      all.push(counts);
      onEnded({ name: job!.name, counts, output, seconds: (performance.now() - started) / 1000 });
    }
  };
  const sleeps = ({ waits = false }: Job) => waits;
  const busy = Array.from({ length: lanes }, () => lane((job) => !sleeps(job)));
  await Promise.all([...busy, lane(sleeps)]);
  return all;
}

async function runJob(job: Job, obstacle: string | null) {
  if (obstacle === null) return await job.run();
  return { counts: { passed: 0, failed: 1 }, output: `FAILED: ${job.name}: ${obstacle}` };
}

/** The longest first, so that no lane waits for one at the end. */
export function longestFirst(jobs: readonly Job[]): Job[] {
  return [...jobs].sort((a, b) => b.seconds - a.seconds);
}
