/** The plain algorithms over a space: they fill it, or take the better half of what was seen. */
import assert from "node:assert/strict";
import {
  type Algorithm,
  checkPoint,
  hypervolume,
  pointKey,
  seededRandom,
  type Seen,
  type Space,
} from "../../core/mod.ts";
import { bySurvival, crowdingDistances, nsga2 } from "../../plugins/search/_nsga2.ts";
import { randomSearch } from "../../plugins/search/random.ts";

const space: Space = {
  dimensions: [
    { name: "kind", kind: "choice", choices: ["plain", "deep"] },
    { name: "x", kind: "real", minimum: 0, maximum: 1 },
    {
      name: "depth",
      kind: "integer",
      minimum: 1,
      maximum: 9,
      when: { name: "kind", is: ["deep"] },
    },
  ],
  forbidden: ({ kind, x }) => kind === "deep" && Number(x) > 0.95 ? "too far" : null,
};
const directions = ["minimize", "maximize"] as const;

/** Two objectives that oppose each other; deep is better, and 7 the best depth. */
function valuesOf(point: Seen["point"]): number[] {
  const [x, depth] = [Number(point["x"]), Number(point["depth"] ?? 1)];
  const cost = Math.abs(depth - 7) / 10;
  return [(x - 0.2) ** 2 + cost, 1 - (x - 0.6) ** 2 - cost];
}

function search(algorithm: Algorithm, trials: number, seed = 1, start: Seen[] = []): Seen[] {
  const random = seededRandom(seed);
  const seen = [...start];
  for (let i = 0; i < trials; i++) {
    const made = algorithm({ space, directions, seen, random, seed });
    if (made === null) break;
    seen.push({ point: made.point, state: "done", values: valuesOf(made.point) });
  }
  return seen;
}

const algorithms = { randomSearch, nsga2 };
for (const [name, algorithm] of Object.entries(algorithms)) {
  Deno.test(`${name} names open points, none twice, and the same for the same seed`, () => {
    const seen = search(algorithm, 40);
    assert.equal(seen.length, 40);
    for (const { point } of seen) assert.equal(checkPoint(space, point), null);
    assert.equal(new Set(seen.map(({ point }) => pointKey(space, point))).size, 40);
    assert.deepEqual(search(algorithm, 40), seen);
  });

  Deno.test(`${name} takes trials that failed, wait, are broken or beyond its space`, () => {
    const point = { kind: "plain", x: 0.3 };
    const odd: Seen[] = [
      { point, state: "pending", values: null },
      { point: { kind: "deep", x: 0.1, depth: 3 }, state: "infeasible", values: null },
      { point: { kind: "deep", x: 0.5, depth: 3 }, state: "failed", values: null },
      { point: { kind: "plain", x: 0.9 }, state: "stopped", values: [0.1, 0.2] },
      { point: { kind: "plain", x: 0.8 }, state: "done", values: [0.1, 0.2], violations: [3] },
      { point: { kind: "plain", x: 0.7 }, state: "done", values: [0.1, 0.2], violations: [0.1] },
      { point: { kind: "plain", x: 0.6 }, state: "done", values: [0.1, 0.2] },
      { point: { kind: "plain", x: 0.5 }, state: "done", values: [0.1, 0.2] },
    ];
    const seen = search(algorithm, 30, 2, [...odd, ...odd.slice(0, 4)]);
    assert.equal(seen.length, 42);
    assert.ok(seen.slice(12).every((one) => pointKey(space, one.point) !== pointKey(space, point)));
  });

  Deno.test(`${name} copes with one objective and with six, all of them tied`, () => {
    for (const count of [1, 6]) {
      const random = seededRandom(1);
      const seen: Seen[] = [];
      for (let i = 0; i < 25; i++) {
        const made = algorithm({ space, directions: Array(count).fill("minimize"), seen, random });
        seen.push({ point: made!.point, state: "done", values: Array(count).fill(1) });
      }
      assert.equal(new Set(seen.map(({ point }) => pointKey(space, point))).size, 25);
    }
  });

  Deno.test(`${name} ends where everything was tried`, () => {
    const few: Space = { dimensions: [{ name: "only", kind: "choice", choices: [1, 2, 3] }] };
    const seen: Seen[] = [];
    const random = seededRandom(1);
    for (;;) {
      const made = algorithm({ space: few, directions, seen, random });
      if (made === null) break;
      seen.push({ point: made.point, state: "done", values: [1, 1] });
      assert.ok(seen.length < 4);
    }
    assert.equal(seen.length, 3);
    assert.equal(
      algorithm({ space: { dimensions: [] }, directions, seen: [], random })?.point["x"],
      undefined,
    );
  });
}

Deno.test("points to begin with come first, best first, but for what cannot be", () => {
  const initial = [{ kind: "deep", x: 1, depth: 2 }, { kind: "plain", x: 0.1 }, {
    kind: "plain",
    x: 0.2,
  }];
  for (const algorithm of [randomSearch, nsga2]) {
    const state = { space, directions, initial, random: seededRandom(1) };
    const first = algorithm({ ...state, seen: [] })!.point;
    assert.deepEqual(first, initial[1]);
    const seen: Seen[] = [{ point: first, state: "done", values: [0, 0] }];
    assert.deepEqual(algorithm({ ...state, seen })!.point, initial[2]);
  }
});

Deno.test("evolution gets further than drawing at random where there are many knobs", () => {
  const dimensions = Array.from(
    { length: 10 },
    (_, i) => ({ name: `x${i}`, kind: "real" as const, minimum: 0, maximum: 1 }),
  );
  const both = ["minimize", "minimize"] as const;
  // ZDT1 (Zitzler, Deb and Thiele 2000) with ten variables.
  const zdt1 = (point: Seen["point"]) => {
    const [first, ...rest] = dimensions.map(({ name }) => Number(point[name]));
    const g = 1 + 9 * rest.reduce((sum, one) => sum + one, 0) / rest.length;
    return [first!, g * (1 - Math.sqrt(first! / g))];
  };
  const reached = (algorithm: Algorithm, seed: number) => {
    const random = seededRandom(seed);
    const seen: Seen[] = [];
    for (let i = 0; i < 80; i++) {
      const { point } = algorithm({ space: { dimensions }, directions: both, seen, random })!;
      seen.push({ point, state: "done", values: zdt1(point) });
    }
    return hypervolume(seen.map(({ values }) => values!), [11, 11], both);
  };
  const seeds = [1, 2, 3, 4, 5];
  for (const seed of seeds) {
    assert.ok(reached(nsga2, seed) > reached(randomSearch, seed), `${seed}`);
  }
});

Deno.test("the fittest are of the first rank and lonely; what breaks a limit or was stopped comes later", () => {
  const seen = (x: number, values: number[], more: Partial<Seen> = {}): Seen => ({
    point: { kind: "plain", x },
    state: "done",
    values,
    ...more,
  });
  const order = bySurvival({
    directions: ["minimize", "minimize"],
    seen: [
      seen(0.1, [0, 0], { violations: [0.5] }),
      seen(0.2, [0, 0], { violations: [0.1] }),
      seen(0.3, [0, 0], { state: "stopped" }),
      seen(0.4, [1, 5]),
      seen(0.5, [2, 4.9]),
      seen(0.6, [4, 4.8]),
      seen(0.7, [5, 1]),
      seen(0.8, [6, 6]),
      seen(0.9, [0, 0], { state: "infeasible" }),
    ],
  });
  // Ends first; then who has the most room; then the second rank.
  assert.deepEqual(order.map(({ x }) => x), [0.4, 0.7, 0.6, 0.5, 0.8, 0.2, 0.1, 0.3]);
});

Deno.test("crowding is the side lengths of the box between a point's neighbours", () => {
  const points = [[0, 10], [1, 6], [3, 5], [10, 0]];
  assert.deepEqual(crowdingDistances(points), [
    Infinity,
    3 / 10 + 5 / 10,
    9 / 10 + 6 / 10,
    Infinity,
  ]);
  assert.deepEqual(crowdingDistances([[1, 1], [1, 1], [1, 1]])[1], 0);
  assert.deepEqual(crowdingDistances([]), []);
});
