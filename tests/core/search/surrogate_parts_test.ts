/** The parts of the surrogate: matrices, Gaussian processes, expected gains in hypervolume. */
import assert from "node:assert/strict";
import { hypervolume, randomPoint, seededRandom } from "../../../core/mod.ts";
import { climb } from "../../../core/search/surrogate/ascent.ts";
import { cholesky, inverseOf, logDeterminant } from "../../../core/evidence/numerics/cholesky.ts";
import { featuresOf } from "../../../core/search/surrogate/features.ts";
import { fitProcess } from "../../../core/search/surrogate/gaussian_process.ts";
import {
  expectedImprovement,
  openBoxes,
  slopingImprovement,
} from "../../../core/search/surrogate/improvement.ts";
import { expectedBelow, normalCdf } from "../../../core/evidence/numerics/normal.ts";
import { aimOf } from "../../../core/search/surrogate/aim.ts";
import { referenceOf } from "../../../core/search/surrogate/objectives.ts";
import { randomNormal } from "../../../core/search/surrogate/candidates.ts";
import { recipes, square, stateOf, tried } from "./problems.ts";

const near = (a: number, b: number, within: number) =>
  assert.ok(Math.abs(a - b) <= within, `${a} is not ${b} within ${within}`);

Deno.test("a matrix and its inverse give one; what is not positive definite has none", () => {
  const matrix = Float64Array.from([4, 2, 0.6, 2, 5, 1, 0.6, 1, 3]);
  const lower = cholesky(matrix, 3)!;
  const inverse = inverseOf(lower, 3);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      let sum = 0;
      for (let k = 0; k < 3; k++) sum += matrix[3 * i + k]! * inverse[3 * k + j]!;
      near(sum, i === j ? 1 : 0, 1e-14);
    }
  }
  // 4·(15 - 1) - 2·(6 - 0.6) + 0.6·(2 - 3)
  near(Math.exp(logDeterminant(lower, 3)), 44.6, 1e-12);
  assert.equal(cholesky(Float64Array.from([1, 2, 2, 1]), 2), null);
});

Deno.test("the normal distribution's tail and its mean part below an edge keep their digits far out", () => {
  near(normalCdf(0), 0.5, 1e-7);
  near(normalCdf(1.96), 0.9750021, 1e-6);
  near(normalCdf(-10) / 7.61985302416e-24, 1, 1e-6);
  near(expectedBelow(0, 0, 2), 2 * 0.3989423, 1e-6);
  near(expectedBelow(-5, 0, 1) / 5.34616e-8, 1, 1e-4);
  near(expectedBelow(-8, 0, 1) / 7.55e-17, 1, 0.01);
  assert.equal(expectedBelow(3, 1, 0), 2);
  assert.equal(expectedBelow(1, 3, 0), 0);
});

Deno.test("the boxes that a front leaves open fill what its hypervolume does not", () => {
  for (const objectives of [1, 2, 3, 4, 5]) {
    const random = seededRandom(objectives);
    const rows = Array.from({ length: 12 }, () => Array.from({ length: objectives }, random));
    const reference = rows[0]!.map(() => 0.9);
    const boxes = openBoxes(rows, reference);
    let open = 0;
    for (let box = 0; box < boxes.count; box++) {
      let volume = 1;
      for (let m = 0; m < objectives; m++) {
        const from = boxes.lower[box * objectives + m]!;
        const low = from < 0 ? 0 : boxes.edges[m]![from]!;
        volume *= boxes.edges[m]![boxes.upper[box * objectives + m]!]! - low;
      }
      open += volume;
    }
    const covered = hypervolume(rows, reference, rows[0]!.map(() => "minimize" as const));
    near(open + covered, 0.9 ** objectives, 1e-12);
  }
});

Deno.test("gains are measured from the study's corner, else from the worst value that is no disaster", () => {
  const rows = [[1, 5], [2, 4], [3, 3], [4, 2], [5, 1]];
  assert.deepEqual(referenceOf(rows), [5.5, 5.5]);
  assert.deepEqual(referenceOf([...rows, [900, 0.5], [3, 900]]), [5.5, 5.5]);
  assert.deepEqual(referenceOf([...rows, [900, 900]], [4, 7]), [4, 7]);
});

Deno.test("what exceeds limits least is where moves start while nothing keeps them", () => {
  const at = [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.3, 0.3], [0.7, 0.7]] as const;
  const seen = at.map(([x, y], i) => ({ ...tried(square, { x, y }), violations: [1 + i, -1] }));
  const { front } = aimOf(stateOf(square, seen));
  assert.deepEqual(front, at.slice(0, 4).map(([x, y]) => ({ x, y })));
  const kept = seen.map((one, i) => i === 4 ? { ...one, violations: [0, 0] } : one);
  assert.deepEqual(aimOf(stateOf(square, kept)).front[0], { x: 0.7, y: 0.7 });
});

Deno.test("the expected gain is the mean gain of drawn points", () => {
  const front = [[0.2, 0.7, 0.5], [0.5, 0.3, 0.6], [0.6, 0.6, 0.1]];
  const reference = [1, 1, 1];
  const directions = reference.map(() => "minimize" as const);
  const before = hypervolume(front, reference, directions);
  const predictions = [0.4, 0.5, 0.3].map((mean, m) => ({ mean, deviation: 0.1 * (m + 1) }));
  const random = seededRandom(3);
  let total = 0;
  for (let i = 0; i < 20_000; i++) {
    const row = predictions.map(({ mean, deviation }) => mean + deviation * randomNormal(random));
    total += hypervolume([...front, row], reference, directions) - before;
  }
  near(expectedImprovement(openBoxes(front, reference), predictions), total / 20_000, 0.002);
});

Deno.test("one objective: the expected gain is the expected improvement below the best", () => {
  const boxes = openBoxes([[0.4], [0.7]], [1]);
  near(
    expectedImprovement(boxes, [{ mean: 0.5, deviation: 0.2 }]),
    expectedBelow(0.4, 0.5, 0.2),
    1e-15,
  );
  // An empty front is improved by all that lies before the reference.
  near(expectedImprovement(openBoxes([], [1]), [{ mean: 0.25, deviation: 0 }]), 0.75, 1e-15);
});

Deno.test("slopes of the expected gain are what a small step changes", () => {
  const boxes = openBoxes([[0.2, 0.7], [0.5, 0.3]], [1, 1]);
  const at = (means: number[], deviations: number[]) =>
    means.map((mean, m) => ({ mean, deviation: deviations[m]! }));
  const [means, deviations] = [[0.35, 0.45], [0.1, 0.2]];
  const { value, byMean, byDeviation } = slopingImprovement(boxes, at(means, deviations));
  near(value, expectedImprovement(boxes, at(means, deviations)), 1e-15);
  for (const m of [0, 1]) {
    const change = (some: number[]) => some.map((one, i) => one + (i === m ? 1e-4 : 0));
    const up = expectedImprovement(boxes, at(change(means), deviations));
    near((up - value) / 1e-4, byMean[m]!, 2e-3);
    const wide = expectedImprovement(boxes, at(means, change(deviations)));
    near((wide - value) / 1e-4, byDeviation[m]!, 2e-3);
  }
});

Deno.test("a process goes through exact values, is sure there, and knows what does not matter", () => {
  const random = seededRandom(5);
  const features = featuresOf(square.space);
  const points = Array.from({ length: 30 }, () => randomPoint(square.space, random));
  const rows = points.map(features.rowOf);
  const values = points.map(({ x }) => Math.sin(6 * Number(x)));
  const model = fitProcess(features, { rows, values });
  rows.forEach((row, i) => {
    const { mean, deviation } = model.predict(row);
    near(mean, values[i]!, 0.01);
    assert.ok(deviation < 0.05);
  });
  const [here, there] = [0.1, 0.9].map((y) => model.predict(features.rowOf({ x: 0.5, y })).mean);
  near(here!, Math.sin(3), 0.05);
  near(there!, here!, 0.05);
});

Deno.test("a process doubts values with large errors", () => {
  const features = featuresOf(square.space);
  const points = [0.1, 0.3, 0.5, 0.7, 0.9].map((x) => ({ x, y: 0.5 }));
  const rows = points.map(features.rowOf);
  const values = [0, 0.25, 1.5, 0.75, 1];
  const middle = features.rowOf({ x: 0.5, y: 0.5 });
  const sure = fitProcess(features, { rows, values }).predict(middle).mean;
  const variances = [0, 0, 4, 0, 0];
  const unsure = fitProcess(features, { rows, values, variances }).predict(middle).mean;
  near(unsure, 0.5, 0.15);
  assert.ok(sure > unsure + 0.1, `${sure} and ${unsure}`);
});

Deno.test("slopes of a process are what a small step changes", () => {
  const random = seededRandom(5);
  const features = featuresOf(square.space);
  const points = Array.from({ length: 12 }, () => randomPoint(square.space, random));
  const values = points.map((point) => square.values(point)![0]!);
  const model = fitProcess(features, { rows: points.map(features.rowOf), values });
  const row = features.rowOf({ x: 0.4, y: 0.55 });
  const sloping = model.slope(row, [0, 1]);
  for (const c of [0, 1]) {
    const moved = row.map((value, i) => value + (i === c ? 1e-5 : 0));
    const { mean, deviation } = model.predict(moved);
    near((mean - sloping.mean) / 1e-5, sloping.meanSlopes[c]!, 1e-3);
    near((deviation - sloping.deviation) / 1e-5, sloping.deviationSlopes[c]!, 1e-3);
  }
});

Deno.test("a process of a few values in two places is unsure elsewhere, however well it explains them", () => {
  const features = featuresOf(square.space);
  const points = [0.1, 0.35].flatMap((x) => [0.1, 0.4, 0.7, 0.95].map((y) => ({ x, y })));
  const model = fitProcess(features, {
    rows: points.map(features.rowOf),
    values: points.map(({ x }) => 0.6 - x),
  });
  // The values' own deviation is 0.125.
  const { deviation } = model.predict(features.rowOf({ x: 0.95, y: 0.5 }));
  assert.ok(deviation > 0.07, `${deviation}`);
});

Deno.test("values that are all alike, or one value alone, make a model of them", () => {
  const features = featuresOf(recipes.space);
  const rows = [0.1, 0.2].map((sparsity) => features.rowOf({ method: "none", sparsity }));
  near(fitProcess(features, { rows, values: [3, 3] }).predict(rows[0]!).mean, 3, 1e-6);
  const alone = fitProcess(features, { rows: rows.slice(1), values: [5] }).predict(rows[0]!);
  assert.ok(Number.isFinite(alone.mean) && alone.deviation >= 0);
});

Deno.test("features: two choices are 1 apart, what is absent lies in the middle", () => {
  const { rowOf, width, groupOf } = featuresOf(recipes.space);
  assert.equal(width, 3 + 1 + 1 + 1);
  assert.deepEqual([...groupOf], [0, 0, 0, 1, 2, 3]);
  const none = rowOf({ method: "none", sparsity: 0 });
  const plain = rowOf({ method: "plain", bits: 8, sparsity: 0 });
  near(none.slice(0, 3).reduce((sum, one, i) => sum + (one - plain[i]!) ** 2, 0), 1, 1e-15);
  assert.deepEqual([none[3], none[4], plain[3]], [0.5, 0.5, 1]);
});

Deno.test("an ascent ends at the top, and at the border where the top lies behind it", () => {
  const bounds = (high: number) => ({
    low: Float64Array.from([0, 0]),
    high: Float64Array.from([1, high]),
    step: 0.1,
    largest: 0.3,
    iterations: 60,
    smallest: 1e-6,
  });
  const hill = (place: Float64Array, slopes: Float64Array) => {
    [slopes[0], slopes[1]] = [-2 * (place[0]! - 0.3), -20 * (place[1]! - 0.8)];
    return -((place[0]! - 0.3) ** 2) - 10 * (place[1]! - 0.8) ** 2;
  };
  const top = climb(hill, Float64Array.from([0.9, 0.1]), bounds(1));
  near(top[0]!, 0.3, 1e-3);
  near(top[1]!, 0.8, 1e-3);
  assert.equal(climb(hill, Float64Array.from([0.9, 0.1]), bounds(0.5))[1], 0.5);
});
