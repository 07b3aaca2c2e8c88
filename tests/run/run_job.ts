/** Parts of a run, each in a process of its own with what it printed kept until it has ended. */
import { execa } from "execa";
import { fileURLToPath } from "node:url";
import { type Counts, denoCounts } from "./counts.ts";
import type { Job } from "./lanes.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Ends what runs when this process is to end, so that its temporary folder still goes. */
export const stop = new AbortController();

const ENVIRONMENT = {
  NO_COLOR: "1",
  HF_HUB_OFFLINE: "1",
  // Lanes share the cores, and a tiny model is slower with two threads than with one.
  OMP_NUM_THREADS: "1",
  // Latencies are looked at in none but one, which says so: no lane waits for the other to be quiet.
  PARE_QUIET_SECONDS: "0",
};

/** Runs deno with words; what it printed and whether it failed. */
export async function deno(words: readonly string[]): Promise<{ output: string; failed: boolean }> {
  const result = await execa(Deno.execPath(), words, {
    cwd: ROOT,
    reject: false,
    all: true,
    stdin: "ignore",
    cancelSignal: stop.signal,
    env: ENVIRONMENT,
  });
  return { output: result.all ?? "", failed: result.failed };
}

type Asked = Omit<Job, "run">;

/** One check as one test: it passed, or what it printed says why not. */
export function check(job: Asked, words: readonly string[]): Job {
  return {
    ...job,
    async run() {
      const { output, failed } = await deno(words);
      const counts = failed ? { passed: 0, failed: 1 } : { passed: 1, failed: 0 };
      return { counts, output: `${output}${failed ? "FAILED" : "ok"}: ${job.name}` };
    },
  };
}

/** A part of the suite, whose counts `read` finds in what it prints. */
export function tests(
  job: Asked,
  words: readonly string[],
  read: (output: string) => Counts | null = denoCounts,
): Job {
  return {
    ...job,
    async run() {
      const { output, failed } = await deno(words);
      return { counts: countsOf(read(output), failed), output };
    },
  };
}

/** The counts of a run; one that broke before it counted has failed too. */
function countsOf(counts: Counts | null, failed: boolean): Counts {
  const read = counts ?? { passed: 0, failed: 0 };
  return failed && read.failed === 0 ? { ...read, failed: 1 } : read;
}
