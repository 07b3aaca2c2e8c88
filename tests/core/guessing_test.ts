/** A baseline that is not told from guessing: what a trial scores there decides nothing. */
import assert from "node:assert/strict";
import { inferSpec, type Measurement, rewardOf, type Spec } from "../../core/mod.ts";
import { plugins, request, smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();
const base = inferSpec(request(), facts, plugins);
const plan = base.tasks.find(({ primary }) => primary)!;
const planOf = (task: string) => ({ ...plan, task, metric: "accuracy", chance: 0.25, weight: 1 });
const spec: Spec = {
  ...base,
  objectives: [
    { metric: "accuracy", direction: "maximize", unit: "share" },
    { metric: "size_bytes", direction: "minimize", unit: "bytes" },
  ],
  reward_weights: {
    ...base.reward_weights,
    accuracy: 0.6,
    latency: 0,
    memory: 0,
    energy: 0,
    size: 0.4,
  },
  tasks: [planOf("known"), planOf("guessed")],
};

const row = (task: string | null, value: number, standard_error = 0.03): Measurement => ({
  ...{ metric: "accuracy", value, unit: "share", direction: "maximize", n: 200, standard_error },
  ...{ fidelity: "full", provenance: "measured", task, task_version: null, slice: null },
  ...{ runtime: null, numerics: null, device: null, method: "" },
});
const size = (value: number): Measurement => ({
  ...row(null, value),
  ...{ metric: "size_bytes", direction: "minimize", standard_error: null },
});
const rows = (known: number, guessed: number, bytes: number) => [
  ...[row("known", known), row("guessed", guessed), row(null, (known + guessed) / 2)],
  size(bytes),
];
const baseline = rows(0.7, 0.26, 1000);
const rewarded = (measurements: Measurement[], own: Spec = spec, from = baseline) =>
  rewardOf({ spec: own, facts, fidelity: "full", baseline: from, measurements, constraints: [] });

Deno.test("luck on a task that the original only guesses earns nothing, and the term says why", () => {
  const lucky = rewarded(rows(0.63, 0.34, 500));
  const unlucky = rewarded(rows(0.63, 0.2, 500));
  assert.equal(lucky.value, unlucky.value);
  const accuracy = lucky.terms.find(({ term }) => term === "accuracy")!;
  assert.ok(Math.abs(accuracy.normalised! - 0.9) < 1e-12);
  assert.match(accuracy.note!, /without guessed: the original is not told from guessing there/);
});

Deno.test("where the original guesses everywhere the other terms decide", () => {
  const from = rows(0.27, 0.24, 1000);
  const own = (known: number, bytes: number) => rewarded(rows(known, 0.3, bytes), spec, from);
  assert.equal(own(0.35, 500).value, own(0.2, 500).value);
  assert.ok(own(0.2, 400).value > own(0.35, 500).value, "half the size is what is known of them");
});

Deno.test("an original that knows something, or whose chance nobody knows, counts as it did", () => {
  const known = rewarded(rows(0.63, 0.4, 500), spec, rows(0.7, 0.5, 1000));
  const accuracy = known.terms.find(({ term }) => term === "accuracy")!;
  assert.ok(Math.abs(accuracy.normalised! - 1.03 / 1.2) < 1e-12);
  assert.equal(accuracy.note, null);
  const unknown = { ...spec, tasks: spec.tasks.map(({ chance: _, ...one }) => one) };
  assert.notEqual(
    rewarded(rows(0.63, 0.34, 500), unknown).value,
    rewarded(rows(0.63, 0.2, 500), unknown).value,
  );
});
