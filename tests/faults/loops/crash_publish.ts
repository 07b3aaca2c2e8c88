/** Power cuts of a publication: by itself, as its recording takes longer than those of all other loops. */
import { crashLoop } from "../crash/crash_loop.ts";
import { publishWorkload } from "../workloads/publish_workload.ts";

export const crash_publish = crashLoop({
  name: "crash_publish",
  about: "each state that a power cut may leave of a publication, and of one over it",
  workloads: [publishWorkload],
  reaches: [
    "a publication that a fault broke off is not there",
    "a publication is mended after a fault",
  ],
});
