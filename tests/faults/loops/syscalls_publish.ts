/** Calls on the files of a publication, and of one over it: by itself, as a point takes some seconds. */
import { callsLoop } from "../crash/calls_loop.ts";
import { publishWorkload } from "../workloads/publish_workload.ts";

export const syscalls_publish = callsLoop({
  name: "syscalls_publish",
  about: "the same of a publication, and of one over it",
  workloads: [publishWorkload],
  most: 1,
  all_or_nothing: true,
  most_files: 2, // each of its 46 tables is written by the same lines
  reaches: [
    "a publication is lied to by its disk",
    "a publication that a fault broke off is not there",
    "a publication is mended after a fault",
  ],
});
