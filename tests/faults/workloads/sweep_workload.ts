/** A sweep of three budgets of one policy of the cache. */
import type { RunPorts } from "../../../core/mod.ts";
import { sweepWorld } from "../../core/runs/sweep_world.ts";
import { type Run, runMain, runWorkload } from "./run_workload.ts";

function swept(): Run {
  const { made, kind, input } = sweepWorld([8, 4, 3]);
  return {
    world: made,
    drive: (ports: RunPorts, history) =>
      kind.drive(history === undefined ? input : { ...input, history }, ports),
  };
}

export const sweepWorkload = runWorkload(
  "sweep",
  import.meta.filename!,
  swept,
  ({ stop, message, trials }) => ({
    ...{ stop, message },
    // A cell that the fault broke off keeps its trial beside the one that ran it again.
    trials: trials.filter(({ state }) => state !== "cancelled")
      .map(({ state, strategy }) => [state, strategy?.actions]),
  }),
);

if (import.meta.main) await runMain(swept);
