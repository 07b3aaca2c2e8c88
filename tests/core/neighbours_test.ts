/** Neighbours on the front: what tells them apart, what would, and what nothing does. */
import assert from "node:assert/strict";
import { neighboursOf, qualityGroups, separationOf } from "../../core/mod.ts";
import { contender, rival, spec } from "./front_rivals.ts";

/** So many of a hundred right, those first. */
const right = (count: number, n = 100) => Array.from({ length: n }, (_, i) => i < count ? 1 : 0);
const one = (id: string, count: number) => contender(id, rival(right(count), 100 - count, id));

Deno.test("neighbours go by quality, with the paired difference and what would tell them apart", () => {
  const found = neighboursOf([one("c", 50), one("a", 80), one("b", 77)], spec);
  assert.deepEqual(found.map(({ better, worse }) => [better, worse]), [["a", "b"], ["b", "c"]]);
  const [near, far] = found;
  assert.equal(near!.samples, 100);
  assert.ok(Math.abs(near!.difference - 0.03) < 1e-12);
  assert.equal(near!.told_apart, false);
  // Three flips and one pair of each kind among 102: variance 5/102 - (3/102)², a pair's own 0.048;
  // 7 × 0.048 / 0.03² = 374 in all, 274 more, but for the two pairs' weight.
  assert.ok(near!.more! > 240 && near!.more! < 300, `${near!.more}`);
  assert.deepEqual([far!.told_apart, far!.more], [true, null]);
  assert.equal(near!.existing, null, "nobody said how many there are");
  const counted = {
    ...spec,
    tasks: spec.tasks.map((plan) => ({ ...plan, available_samples: 100 })),
  };
  const [read] = neighboursOf([one("a", 80), one("b", 77)], counted);
  assert.deepEqual([read!.existing, read!.more], [100, null], "all are read: there are no more");
});

Deno.test("a difference under a third of its half width has no number, nor have equals", () => {
  const flipped = right(80).map((score, i) => i < 20 ? 0 : i >= 80 && i < 99 ? 1 : score);
  const close = separationOf(one("a", 80), contender("b", rival(flipped, 1, "b")), spec)!;
  assert.ok(Math.abs(close.difference - 0.01) < 1e-12);
  assert.deepEqual([close.told_apart, close.more], [false, null]);
  const equal = separationOf(one("a", 80), one("e", 80), spec)!;
  assert.deepEqual([equal.difference, equal.told_apart, equal.more], [0, false, null]);
});

Deno.test("groups hold what cannot be told apart, share members, and none lies in another", () => {
  const members = [one("a", 80), one("b", 77), one("c", 74), one("d", 40), one("e", 39)];
  assert.deepEqual(qualityGroups(members, spec), [["a", "b"], ["b", "c"], ["d", "e"]]);
  assert.deepEqual(qualityGroups([one("a", 80), one("d", 40)], spec), []);
  assert.deepEqual(qualityGroups([one("a", 80)], spec), []);
  assert.deepEqual(neighboursOf([], spec), []);
  const none = { ...one("n", 70), samples: [] };
  assert.deepEqual(neighboursOf([one("a", 80), none], spec), [], "nothing to compare by");
});

Deno.test("texts that two trials read alike have no number: their interval is a point", () => {
  const objectives = [
    { metric: "perplexity", direction: "minimize", unit: "1" } as const,
    spec.objectives[1]!,
  ];
  const of = { ...spec, objectives, tasks: [{ ...spec.tasks[0]!, metric: "perplexity" }] };
  const text = (id: string) => {
    const { trial, samples } = contender(id, rival([2, 3, 2.5], 1, id));
    const measurements = trial.measurements.map((row) =>
      row.metric === "accuracy" ? { ...row, metric: "perplexity", value: Math.exp(2.5) } : row
    );
    return { trial: { ...trial, measurements }, samples };
  };
  const { difference, told_apart, more } = separationOf(text("a"), text("b"), of)!;
  assert.deepEqual([difference, told_apart, more], [0, false, null]);
});
