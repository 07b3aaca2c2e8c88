/** Power cuts of a collection beside a study: what each leaves, and how both go on. */
import { crashLoop } from "../crash/crash_loop.ts";
import { collectionWorkload } from "../workloads/collection_workload.ts";

export const crash_collection = crashLoop({
  name: "crash_collection",
  about:
    "each state that a power cut may leave of a collection beside a study that makes artifacts",
  workloads: [collectionWorkload],
  reaches: [
    "a collection that was cut off is taken up",
    "a study beside a collection is cut off",
  ],
});
