/** Power cuts of whole runs, the mirror and a fetch: what each leaves, and how it goes on. */
import { crashLoop } from "../crash/crash_loop.ts";
import { cacheWorkload } from "../workloads/cache_workload.ts";
import { givenWorkload } from "../workloads/given_workload.ts";
import { mirrorWorkload } from "../workloads/mirror_workload.ts";
import { stagedWorkload } from "../workloads/staged_workload.ts";
import { sweepWorkload } from "../workloads/sweep_workload.ts";

export const crash_runs = crashLoop({
  name: "crash_runs",
  about:
    "each state that a power cut may leave of a staged run, a sweep, a mirror, a fetch, a kept folder",
  workloads: [stagedWorkload, sweepWorkload, mirrorWorkload, givenWorkload, cacheWorkload],
  reaches: [
    "stages: a run goes on after a fault",
    "stages: a run that has ended is taken up",
    "sweep: a run goes on after a fault",
    "a mirror goes on from its place after a fault",
    "a fetched model is whole after a power cut",
    "a folder of the cache is whole after a power cut",
  ],
});
