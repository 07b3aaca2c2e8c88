/** Calls on the files of a study, a queue and artifacts: the quick workloads. */
import { callsLoop } from "../crash/calls_loop.ts";
import { artifactWorkload } from "../workloads/artifact_workload.ts";
import { journalWorkload } from "../workloads/journal_workload.ts";
import { queueWorkload } from "../workloads/queue_workload.ts";

export const syscalls = callsLoop({
  name: "syscalls",
  about: "each call on the files of a study, a queue and artifacts fails, lies or is the last one",
  workloads: [journalWorkload, queueWorkload, artifactWorkload],
  reaches: [],
});
