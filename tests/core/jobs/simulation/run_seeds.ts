/** Many seeds, on all threads of this machine: no run knows of another. */
import type { Size } from "./simulate.ts";

export interface Seeds {
  readonly from: number;
  /** Seed after seed. */
  readonly sizes: readonly Size[];
  /** No run begins after. */
  readonly seconds: number;
  /** Of each thread. */
  readonly most: number;
}

export interface SeedsRun {
  runs: number;
  events: number;
  seconds: number;
  /** The rule that one broke; null: none did. */
  broken: string | null;
}

function onThread(seeds: Seeds, step: number): Promise<SeedsRun> {
  const worker = new Worker(new URL("./seeds_worker.ts", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<SeedsRun>) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ ...seeds, step });
  });
}

/** What came of each thread. */
export async function runSeeds(seeds: Seeds): Promise<SeedsRun[]> {
  const threads = navigator.hardwareConcurrency;
  return await Promise.all(
    Array.from(
      { length: threads },
      (_, n) => onThread({ ...seeds, from: seeds.from + n }, threads),
    ),
  );
}
