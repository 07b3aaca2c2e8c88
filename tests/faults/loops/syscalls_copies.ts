/** Calls on the files of what copies, keeps and collects. */
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
