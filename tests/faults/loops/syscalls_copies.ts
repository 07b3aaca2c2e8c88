/**
 * Calls on the files of what copies, keeps and collects. A run that goes on behind a failed call takes another
 * course, which has no unbroken one beside it: staged runs and sweeps are killed at each call by `crash_runs`.
 */
import { callsLoop } from "../crash/calls_loop.ts";
import { cacheWorkload } from "../workloads/cache_workload.ts";
import { collectionWorkload } from "../workloads/collection_workload.ts";
import { givenWorkload } from "../workloads/given_workload.ts";
import { mirrorWorkload } from "../workloads/mirror_workload.ts";

export const syscalls_copies = callsLoop({
  name: "syscalls_copies",
  about: "the same of a mirror, a collection beside a study, a fetch, a folder kept by its key",
  workloads: [mirrorWorkload, collectionWorkload, givenWorkload, cacheWorkload],
  reaches: ["mirror: a rename failed while it was behind"],
});
