import type { Counts } from "./counts.ts";

/** Part of the suite, run by itself. */
export interface Job {
  readonly name: string;
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

/** Runs jobs side by side, in this order as lanes become free; each is told when it has ended. */
export async function runInLanes(
  jobs: readonly Job[],
  lanes: number,
  onEnded: (ended: Ended) => void,
): Promise<Counts[]> {
  const waiting = [...jobs];
  const all: Counts[] = [];
  const lane = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const started = performance.now();
      const { counts, output } = await job.run();
      all.push(counts);
      onEnded({ name: job.name, counts, output, seconds: (performance.now() - started) / 1000 });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return all;
}

/** Files to run in one process each: those that are long alone and first, the others by `size`. */
export function groupFiles(
  files: readonly string[],
  long: readonly string[],
  size: number,
): string[][] {
  const alone = long.filter((file) => files.includes(file));
  const others = files.filter((file) => !alone.includes(file)).sort();
  const groups = Array.from(
    { length: Math.ceil(others.length / size) },
    (_, n) => others.slice(n * size, (n + 1) * size),
  );
  return [...alone.map((file) => [file]), ...groups];
}
