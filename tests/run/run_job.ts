/** Parts of a run, each in a process of its own with what it printed kept until it has ended. */
import { fileURLToPath } from "node:url";
import { limitOf } from "./budgets.ts";
import { type Counts, denoCounts } from "./counts.ts";
import { lastBegun } from "./failures.ts";
import { inGroup } from "./in_group.ts";
import type { Job } from "./lanes.ts";
import { secondsLeft } from "./limit.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const ENVIRONMENT = {
  NO_COLOR: "1",
  HF_HUB_OFFLINE: "1",
  // Lanes share the cores, and a tiny model is slower with two threads than with one.
  OMP_NUM_THREADS: "1",
  // Latencies are looked at in none but one, which says so: no lane waits for the other to be quiet.
  PARE_QUIET_SECONDS: "0",
};

/** Runs deno with words for as long as the job may; what it printed and whether it failed. */
async function deno(job: Asked, words: readonly string[]) {
  const seconds = Math.min(limitOf(job), secondsLeft());
  const { output, failed, late } = await inGroup([Deno.execPath(), ...words], {
    ...{ cwd: ROOT, env: ENVIRONMENT, seconds },
  });
  if (!late) return { output, failed };
  const what = lastBegun(output) ?? `${job.name}::all of it`;
  return { output: `${output}\nFAILED ${what} did not end within ${seconds.toFixed(0)} s`, failed };
}

type Asked = Omit<Job, "run">;

/** One check as one test: it passed, or what it printed says why not. */
export function check(job: Asked, words: readonly string[]): Job {
  return {
    ...job,
    async run() {
      const { output, failed } = await deno(job, words);
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
      const { output, failed } = await deno(job, words);
      return { counts: countsOf(read(output), failed), output };
    },
  };
}

/** The counts of a run; one that broke before it counted has failed too. */
function countsOf(counts: Counts | null, failed: boolean): Counts {
  const read = counts ?? { passed: 0, failed: 0 };
  return failed && read.failed === 0 ? { ...read, failed: 1 } : read;
}
