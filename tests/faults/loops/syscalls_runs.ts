/** Calls on the files of whole runs. */
import { callsLoop } from "../crash/calls_loop.ts";
import { stagedWorkload } from "../workloads/staged_workload.ts";
import { sweepWorkload } from "../workloads/sweep_workload.ts";

export const syscalls_runs = callsLoop({
  name: "syscalls_runs",
  about: "each call on the files of a staged run and of a sweep fails, lies or is the last one",
  workloads: [stagedWorkload, sweepWorkload],
  reaches: ["stages", "sweep"].flatMap((run) => [
    `${run}: a run goes on after a fault`,
    `${run}: a run that has ended is taken up`,
    `${run}: a run takes another course behind a fault`,
  ]),
});
