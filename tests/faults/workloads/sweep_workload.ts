/** A sweep of three budgets of one policy of the cache. */
import assert from "node:assert/strict";
import { isWorthARetry, type RunPorts, type Trial } from "../../../core/mod.ts";
import { sweepWorld } from "../../core/runs/sweep_world.ts";
import { type Run, runMain, runWorkload } from "./run_workload.ts";

const BUDGETS = [8, 4, 3];

/** A cell that the machine failed keeps its trial beside the one that ran it again. */
const endedOf = (trials: readonly Trial[]) =>
  trials.filter(({ state, failure }) =>
    state !== "cancelled" && !(failure != null && isWorthARetry(failure.kind))
  );

function swept(): Run {
  const { made, kind, input } = sweepWorld(BUDGETS);
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
  {
    same: ({ stop, message, trials }) => ({
      ...{ stop, message },
      trials: endedOf(trials).map(({ state, strategy }) => [state, strategy?.actions]),
    }),
    holds({ stop, message, trials }) {
      assert.equal(stop, "end_of_plan", message);
      const cells = endedOf(trials).map(({ strategy }) =>
        JSON.stringify(strategy?.actions ?? null)
      );
      assert.equal(new Set(cells).size, 1 + BUDGETS.length, "a cell is missing");
      assert.equal(cells.length, 1 + BUDGETS.length, "a cell ended twice");
    },
  },
);

if (import.meta.main) await runMain(swept);
