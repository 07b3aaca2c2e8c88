/** A staged run: one stage that advances, one that is tried again, one that is rolled back. */
import assert from "node:assert/strict";
import { type JournalRecord, kindOf, type RunPorts } from "../../../core/mod.ts";
import { comparable, round, stagesWorld } from "../../core/stages/stages_world.ts";
import { failure } from "../../core/study_world.ts";
import { type Run, runMain, runWorkload } from "./run_workload.ts";

const STAGES = ["first", "second", "third"];

/** The third stage's values are not finite, whoever asks and how often. */
function staged(): Run {
  const world = stagesWorld({
    stages: [
      { name: STAGES[0]!, actions: [round(8)] },
      { name: STAGES[1]!, actions: [round(2)], adjustments: [{ below: 0.95, set: { bits: 4 } }] },
      { name: STAGES[2]!, actions: [round(3)] },
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

const decisionsIn = (records: readonly JournalRecord[]) =>
  records.flatMap((one) => one.type === "stages_decided" ? one.decisions : []);

export const stagedWorkload = runWorkload(
  "stages",
  import.meta.filename!,
  staged,
  {
    same: ({ stop, message }, records) => ({
      ...{ stop, message },
      ledger: comparable(decisionsIn(records)),
    }),
    holds({ stop, message }, records) {
      assert.equal(stop, "staged", message);
      const rows = decisionsIn(records);
      const attempts = rows.filter(({ about }) => about === "attempt");
      const ends = attempts.filter(({ decision }) => decision !== "retry");
      const told = ends.map(({ stage }) => stage);
      assert.deepEqual(told, STAGES.slice(0, ends.length), "a stage has no end, or two");
      if (ends.at(-1)!.decision === "advance") assert.equal(ends.length, STAGES.length, "it stops");
      const advanced = ends.filter(({ decision }) => decision === "advance");
      const [ship, ...more] = rows.filter(({ decision }) => decision === "ship");
      assert.deepEqual(more, [], "it ships twice");
      assert.equal(ship!.stage, advanced.at(-1)?.stage ?? "original", "what failed is shipped");
    },
  },
);

if (import.meta.main) await runMain(staged);
