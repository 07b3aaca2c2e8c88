/** What earlier studies of like models tell: their values as they would be here, and when a model takes them. */
import assert from "node:assert/strict";
import {
  auto,
  type EarlierTrial,
  type Learned,
  seededRandom,
  studySearch,
} from "../../../core/mod.ts";
import { featuresOf } from "../../../core/search/surrogate/features.ts";
import { goalOf } from "../../../core/search/surrogate/goals.ts";
import { type Measured, measuredOf } from "../../../core/search/surrogate/objectives.ts";
import { baseline, context, facts, recipe, trial } from "../../plugins/search_fixtures.ts";
import { square, stateOf, tried } from "./problems.ts";

const places = (count: number, seed: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => ({ x: random(), y: random() }));
};

function learnedOf(values: (point: { x: number; y: number }) => readonly number[]): Learned[] {
  return places(25, 3).map((point) => ({ point, values: values(point), likeness: 0.7 }));
}

/** The first objective's goal after six points, with what is learned. */
function goalWith(learned: Learned[]) {
  const seen = places(6, 4).map((point) => tried(square, point));
  const state = stateOf(square, seen, { learned });
  const features = featuresOf(square.space);
  const measured: Measured[] = measuredOf(state);
  const rows = measured.map(({ point }) => features.rowOf(point));
  return goalOf(state, features, rows, measured, 0);
}

Deno.test("a model takes what an earlier study tells where that explains what is measured, and drops it else", () => {
  const alike = goalWith(learnedOf((point) => square.values(point)!.map((one) => 1.2 * one)));
  assert.equal(alike.learns, true);
  const near = alike.prior({ x: 0.2, y: 0.3 });
  assert.ok(Math.abs(near.mean) < 0.2, `${near.mean}`);
  const away = goalWith(learnedOf(({ x, y }) => square.values({ x: 1 - x, y: 1 - y })!));
  assert.equal(away.learns, false);
  assert.deepEqual(away.prior({ x: 0.2, y: 0.3 }), { mean: 0, deviation: 0 });
});

Deno.test("an earlier study that is less alike is more in doubt", () => {
  const values = ({ x, y }: { x: number; y: number }) => square.values({ x, y })!;
  const doubt = (likeness: number) =>
    goalWith(learnedOf(values).map((one) => ({ ...one, likeness }))).prior({ x: 0.5, y: 0.5 })
      .deviation;
  assert.ok(doubt(0.9) < doubt(0.5), `${doubt(0.9)} ${doubt(0.5)}`);
});

Deno.test("auto begins with the front of an earlier study, every second point", () => {
  const learned = learnedOf((point) => square.values(point)!);
  const first = auto(stateOf(square, [], { learned }))!;
  assert.match(first.reason, /on the front of an earlier study/);
  assert.ok(learned.some(({ point }) => JSON.stringify(point) === JSON.stringify(first.point)));
  const second = auto(stateOf(square, [tried(square, first.point)], { learned }))!;
  assert.doesNotMatch(second.reason, /earlier study/);
});

Deno.test("a proposal says that earlier studies are counted in, where they are", () => {
  const seen = places(6, 4).map((point) => tried(square, point));
  const of = (values: (point: { x: number; y: number }) => readonly number[]) =>
    auto(stateOf(square, seen, { learned: learnedOf(values) }))!.reason;
  assert.match(of((point) => square.values(point)!), /, earlier studies counted in/);
  const away = of(({ x, y }) => square.values({ x: 1 - x, y: 1 - y })!);
  assert.doesNotMatch(away, /earlier studies/);
});

const earlier: EarlierTrial = {
  ...{ study_id: "s0", trial_id: "e1", model_name: "m", dataset: facts.dataset.dataset },
  actions: trial(1, recipe(["round", { bits: 4 }])).actions,
  ...{ state: "completed", fidelity: "full", failure_kind: null, reward: 1 },
  figures: {
    accuracy: { value: 0.55, baseline: 0.6 },
    size_bytes: { value: 25, baseline: 100 },
  },
  parameters: facts.model.parameters,
};

Deno.test("an earlier trial's figures move from this baseline as they moved from its own", () => {
  const base = context();
  const row = (metric: string, value: number) => ({
    ...{ metric, value, unit: "1", n: 100, standard_error: 0.01, fidelity: "full" },
    direction: metric === "size_bytes" ? "minimize" as const : "maximize" as const,
    ...{ provenance: "measured" as const, task: null, task_version: null, slice: null },
    ...{ runtime: null, numerics: null, device: null, method: "" },
  });
  const spec = {
    ...base.spec,
    objectives: [
      { metric: "accuracy", direction: "maximize" as const, unit: "share" },
      { metric: "size_bytes", direction: "minimize" as const, unit: "bytes" },
    ],
  };
  const original = { ...baseline, measurements: [row("accuracy", 0.7), row("size_bytes", 400)] };
  const of = (trials: EarlierTrial[], own = [original]) =>
    studySearch(context({ spec, trials: own, earlier: trials })).state.learned;
  const [only, ...more] = of([earlier, { ...earlier, fidelity: "proxy" }, {
    ...earlier,
    figures: {},
  }])!;
  assert.deepEqual(more, [], "a lower rung, or a figure that is missing, tells nothing");
  assert.deepEqual(only!.values.map((one) => Number(one.toPrecision(9))), [0.65, 100]);
  assert.ok(only!.likeness > 0 && only!.likeness <= 1);
  assert.equal(of([earlier], []), undefined, "no baseline here");
  assert.equal(of([]), undefined);
});
