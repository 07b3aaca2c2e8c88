/** A staged run: one stage that advances, one that is tried again, one that is rolled back. */
import { kindOf, type RunPorts } from "../../../core/mod.ts";
import { comparable, round, stagesWorld } from "../../core/stages/stages_world.ts";
import { failure } from "../../core/study_world.ts";
import { type Run, runMain, runWorkload } from "./run_workload.ts";

/** The third stage's values are not finite, whoever asks and how often. */
function staged(): Run {
  const world = stagesWorld({
    stages: [
      { name: "first", actions: [round(8)] },
      { name: "second", actions: [round(2)], adjustments: [{ below: 0.95, set: { bits: 4 } }] },
      { name: "third", actions: [round(3)] },
    ],
  }, {
    loss: (bits) => bits === 2 ? 0.9 : 0,
    samples: { proxy: 10, half: 15, full: 20 },
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.includes('"bits":3') ? failure("not_a_number") : null,
  });
  return {
    world,
    drive: (ports: RunPorts, history) => {
      const input = world.input(history === undefined ? {} : { history });
      return kindOf(input.request).drive(input, ports);
    },
  };
}

export const stagedWorkload = runWorkload(
  "stages",
  import.meta.filename!,
  staged,
  ({ stop, message }, records) => ({
    ...{ stop, message },
    ledger: comparable(
      records.flatMap((one) => one.type === "stages_decided" ? one.decisions : []),
    ),
  }),
);

if (import.meta.main) await runMain(staged);
