/** Power cuts by replay: each state of the disk that one may leave, and the product's start on it. */
import { crashLoop } from "../crash/crash_loop.ts";
import { artifactWorkload } from "../workloads/artifact_workload.ts";
import { journalWorkload } from "../workloads/journal_workload.ts";
import { queueWorkload } from "../workloads/queue_workload.ts";

export const crash_states = crashLoop({
  name: "crash_states",
  about: "each state that a power cut may leave of a study, a queue and shared artifacts",
  workloads: [journalWorkload, queueWorkload, artifactWorkload],
  reaches: [
    "a power cut leaves a torn journal",
    "an index is made after a power cut",
    "a collection after a power cut takes what nobody needs",
  ],
});
