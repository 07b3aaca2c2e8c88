/** What a staged run is foretold to take: by what each stage meets, every attempt and every program. */
import assert from "node:assert/strict";
import {
  forecastStages,
  modelAfter,
  resolveActions,
  type StagesPlan,
  totalBytes,
} from "../../../../core/mod.ts";
import { checkAdjustments } from "../../../../core/runs/stages/adjust.ts";
import { StagesPlan as StagesPlanSchema } from "../../../../core/runs/stages/plan.ts";
import { discoverPlugins } from "../../../../tracker/lab/discover.ts";
import { forecastOf } from "../../../../tracker/show/stages/forecast_text.ts";
import { smallFacts } from "../../../core/spec_fixtures.ts";
import { runWorld, stagesWorld } from "../../../core/stages/stages_world.ts";

const registry = await discoverPlugins([]);
const { methods } = registry;
const facts = smallFacts();
const world = stagesWorld();
await runWorld(world);
const [opened] = world.records;
assert.ok(opened?.type === "study_opened");
const { spec, request } = opened;

const rtn = (bits: number, targets: string) => ({
  agent: "quantization",
  method: "rtn",
  params: { bits, group_size: 32, targets },
});

type Stages = (typeof StagesPlanSchema)["_zod"]["input"]["stages"];

const planOf = (stages: Stages): StagesPlan => StagesPlanSchema.parse({ core: ["words"], stages });
const forecast = (stages: Stages) => forecastStages(planOf(stages), spec, facts, methods);

Deno.test("a stage is foretold on what its parent leaves, one on the original on the original", () => {
  const both = [rtn(8, "embedding"), rtn(4, "linear")];
  const bytes = (actions: typeof both) =>
    totalBytes(modelAfter(resolveActions(actions, methods, facts), methods, facts));
  const { stages } = forecast([
    { name: "first", actions: [both[0]!] },
    { name: "second", actions: [both[1]!] },
    { name: "third", actions: [both[1]!], onto: "original" },
  ]);
  assert.deepEqual(stages.map((stage) => stage.bytes), [
    bytes([both[0]!]),
    bytes(both),
    bytes([both[1]!]),
  ]);
});

Deno.test("a stage behind one that cannot be foretold is not guessed", () => {
  const { stages } = forecast([
    { name: "first", actions: [{ agent: "quantization", method: "rtn", params: { bits: 99 } }] },
    { name: "second", actions: [rtn(4, "linear")] },
  ]);
  assert.match(stages[0]!.unknown!, /bits/);
  assert.match(stages[1]!.unknown!, /what it is applied to cannot be foretold/);
});

Deno.test("a further attempt costs what its adjustment makes of it", () => {
  const actions = [{ agent: "codec", method: "seedlm", params: { seed_bits: 12 } }];
  const once = forecast([{ name: "one", actions, attempts: 1 }]);
  const longer = forecast([{
    name: "one",
    actions: [{ ...actions[0]!, params: { seed_bits: 16 } }],
    attempts: 1,
  }]);
  const twice = forecast([{ name: "one", actions, adjustments: [{ set: { seed_bits: 16 } }] }]);
  const both = once.most_seconds + longer.most_seconds - once.baseline_seconds;
  assert.ok(longer.most_seconds > once.most_seconds);
  assert.ok(Math.abs(twice.most_seconds - both) < 1e-6);
  assert.equal(twice.storage_bytes, once.storage_bytes + longer.storage_bytes);
  assert.equal(twice.seconds, once.seconds, "the first attempt may do");
});

Deno.test("every program that is drawn of a problem is counted", () => {
  const plan = planOf([{ name: "one", actions: [rtn(4, "linear")] }]);
  const counted = { ...spec, rungs: [{ fidelity: "full", samples: { humaneval: 100 } }] };
  const asked = { ...request, stages: plan };
  const seconds = (samples_per_problem: number) =>
    forecastOf(
      { request: { ...asked, samples_per_problem }, spec: counted, facts },
      registry,
    )!.baseline_seconds;
  const start = 5; // seconds of a worker's start, of one rung
  assert.ok(Math.abs((seconds(20) - start) - 2 * (seconds(10) - start)) < 1e-6);
});

Deno.test("an adjustment is tried on what its stage meets", () => {
  // A group that is chosen for rows of the original need not be one for those of the parent.
  const stages = planOf([
    { name: "first", actions: [rtn(8, "embedding")] },
    {
      name: "second",
      actions: [{ ...rtn(4, "linear"), params: { bits: 4, group_size: "auto" } }],
      adjustments: [{ set: { bits: 8 } }],
    },
  ]).stages;
  const seen: number[] = [];
  const watched = methods.map((entry) =>
    entry.method.name !== "rtn" ? entry : {
      ...entry,
      method: {
        ...entry.method,
        auto(met: typeof facts) {
          seen.push(totalBytes(met.model));
          return entry.method.auto?.(met) ?? {};
        },
      },
    }
  );
  checkAdjustments(stages, watched, facts);
  const parent = totalBytes(
    modelAfter(resolveActions(stages[0]!.actions, methods, facts), methods, facts),
  );
  assert.deepEqual([...new Set(seen)], [parent]);
});
