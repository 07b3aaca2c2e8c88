/** The search algorithms that learn from what was seen: TPE and the surrogate. */
import assert from "node:assert/strict";
import {
  type Algorithm,
  auto,
  checkPoint,
  hypervolume,
  pointKey,
  type SearchState,
  seededRandom,
  type Seen,
  surrogate,
  tpe,
} from "../../../core/mod.ts";
import { aimOf } from "../../../core/search/surrogate/aim.ts";
import { largestVolume, splitSeen } from "../../../core/search/tpe/split.ts";
import { type Problem, recipes, search, square, stateOf, tried } from "./problems.ts";

const algorithms: Record<string, Algorithm> = { tpe, surrogate, auto };

function volume(seen: readonly Seen[], reference: readonly number[]): number {
  const rows = seen.flatMap(({ state, values }) => state === "done" ? [values!] : []);
  return hypervolume(rows, reference, reference.map(() => "minimize" as const));
}

/** Points of a grid over the square. */
const grid = [0.1, 0.35, 0.6, 0.85].flatMap((x) => [0.1, 0.4, 0.7, 0.95].map((y) => ({ x, y })));

for (const [name, algorithm] of Object.entries(algorithms)) {
  Deno.test(`${name} tries the initial points first, in their order, each once`, () => {
    const initial = [{ x: 0.5, y: 0.5 }, { x: 0.5, y: 0.5 }, { x: 0.1, y: 0.9 }];
    const seen = search(algorithm, square, 3, { initial });
    assert.deepEqual(seen.slice(0, 2).map(({ point }) => point), [initial[0], initial[2]]);
    assert.ok(!seen.slice(0, 2).some(({ point }) => point === seen[2]!.point));
  });

  Deno.test(`${name} names points of the space, none twice, the same for the same numbers`, () => {
    const seen = search(algorithm, recipes, 24);
    assert.equal(seen.length, 24);
    assert.ok(seen.every(({ point }) => checkPoint(recipes.space, point) === null));
    assert.equal(new Set(seen.map(({ point }) => pointKey(recipes.space, point))).size, 24);
    assert.deepEqual(search(algorithm, recipes, 24), seen);
  });

  Deno.test(`${name} goes through a small space to its end, and then has nothing left`, () => {
    const { dimensions } = recipes.space;
    const small: Problem = {
      ...recipes,
      space: { dimensions: dimensions.slice(0, 2) },
      values: (point) => recipes.values({ sparsity: 0, samples: 16, ...point }),
    };
    assert.equal(search(algorithm, small, 50).length, 9);
  });

  Deno.test(`${name} leaves forbidden points out`, () => {
    const space = {
      ...square.space,
      forbidden: (point: SearchState["space"] extends never ? never : Record<string, unknown>) =>
        Number(point["x"]) < 0.5 ? "x is below 0.5" : null,
    };
    const seen = search(algorithm, { ...square, space }, 20);
    assert.ok(seen.every(({ point }) => Number(point["x"]) >= 0.5));
  });

  Deno.test(`${name} stands what is not a number, equal values, refusals and one that never ends`, () => {
    const all = grid.map((point) => tried(square, point));
    const nan = all.map((one, i) => i % 4 === 0 ? { ...one, values: [NaN, 1] } : one);
    const equal = all.map((one) => ({ ...one, values: [1, 1] }));
    const refused = all.map((one): Seen => ({ ...one, state: "infeasible", values: null }));
    const failed = all.map((one): Seen => ({ ...one, state: "failed", values: null }));
    const pending = all.map((one): Seen => ({ ...one, state: "pending", values: null }));
    const infinite = all.map((one, i) => i % 4 === 0 ? { ...one, values: [Infinity, 1] } : one);
    const violated = all.map((one) => ({ ...one, violations: [0.5, -1] }));
    const mixed = [...all.slice(0, 12), ...refused.slice(12, 14), ...pending.slice(14)];
    for (const seen of [nan, equal, refused, failed, pending, infinite, violated, mixed]) {
      const made = algorithm(stateOf(square, seen));
      assert.equal(checkPoint(square.space, made!.point), null);
      assert.match(made!.reason, /\w/);
    }
  });

  Deno.test(`${name} takes one objective and six`, () => {
    for (const objectives of [1, 6]) {
      const values = (point: Seen["point"]) => {
        const [a, b] = square.values(point)!;
        return [a!, b!, a! + b!, -a!, a! * b!, Number(point["y"])].slice(0, objectives);
      };
      const seen = search(algorithm, { ...square, objectives, values }, 14);
      assert.equal(seen.length, 14);
    }
  });

  Deno.test(`${name} goes on where several points share the best value of one objective`, () => {
    // On whole steps of a bowl the four middle points of the grid are equally good.
    const values = ({ x, y }: Seen["point"]) => [Math.floor(8 * Math.hypot(+x! - 0.5, +y! - 0.5))];
    const one: Problem = { ...square, objectives: 1, values };
    const measured = grid.map((point) => tried(one, point));
    const best = Math.min(...measured.map(({ values }) => values![0]!));
    assert.ok(measured.filter(({ values }) => values![0] === best).length > 1);
    const pending: Seen = { point: { x: 0.5, y: 0.5 }, state: "pending", values: null };
    for (const seen of [measured, [...measured, pending]]) {
      const made = algorithm(stateOf(one, seen));
      assert.equal(checkPoint(square.space, made!.point), null);
    }
    assert.equal(search(algorithm, one, 20).length, 20);
  });

  Deno.test(`${name} maximises what is to be maximised`, () => {
    const turned = {
      ...square,
      values: (point: Seen["point"]) => square.values(point)!.map((v) => -v),
    };
    const directions = ["maximize", "maximize"] as const;
    const turnedSeen = search(algorithm, turned, 16, { directions });
    assert.deepEqual(
      turnedSeen.map(({ point }) => point),
      search(algorithm, square, 16).map(({ point }) => point),
    );
  });

  Deno.test(`${name} does not name the place of what is under way`, () => {
    const seen = grid.map((point) => tried(square, point));
    const first = algorithm(stateOf(square, seen))!.point;
    const pending: Seen = { point: first, state: "pending", values: null };
    const second = algorithm(stateOf(square, [...seen, pending]))!.point;
    const apart = Math.hypot(...["x", "y"].map((k) => Number(first[k]) - Number(second[k])));
    assert.ok(apart > 0.01, `${apart}`);
  });
}

/** So many points of chance alone. */
function searchedByChance(trials: number) {
  const point = (state: SearchState) => ({ x: state.random(), y: state.random() });
  return search((state) => ({ point: point(state), mode: "explore", reason: "" }), square, trials);
}

Deno.test("the surrogate comes nearer to a smooth front in 22 trials than 200 random points", () => {
  const reference = [0.5, 0.5];
  const random = searchedByChance(200);
  const led = volume(search(surrogate, square, 22), reference);
  assert.ok(led > volume(random, reference), `${led}, random ${volume(random, reference)}`);
});

Deno.test("TPE comes nearer to it in 60 trials than 60 random points", () => {
  const reference = [0.3, 0.3];
  const random = searchedByChance(60);
  assert.ok(volume(search(tpe, square, 60), reference) > volume(random, reference));
});

Deno.test("the surrogate needs no model of what a formula tells", () => {
  const known = (point: Seen["point"]) => [null, square.values(point)![1]!];
  const asked: Seen["point"][] = [];
  const seen = grid.map((point) => tried(square, point));
  const made = surrogate(stateOf(square, seen, {
    known: (point) => {
      asked.push(point);
      return known(point);
    },
  }));
  assert.ok(asked.length > 50);
  const [first, second] = square.values(made!.point)!;
  const beaten = seen.some(({ values }) => values![0]! <= first! && values![1]! <= second!);
  assert.ok(!beaten, `${first}, ${second}`);
});

Deno.test("the surrogate learns what differs from what is expected, and so needs fewer trials", () => {
  const expected = (point: Seen["point"]) => square.values(point)!.map((v) => 1.3 * v + 0.2);
  const corner = [0.3, 0.3];
  const reached = [1, 2, 3, 4, 5, 6].map((seed) => ({
    with: volume(search(surrogate, square, 8, { random: seededRandom(seed), expected }), corner),
    without: volume(search(surrogate, square, 8, { random: seededRandom(seed) }), corner),
  }));
  const total = (of: "with" | "without") => reached.reduce((sum, one) => sum + one[of], 0);
  assert.ok(total("with") > 1.05 * total("without"), JSON.stringify(reached));
});

Deno.test("what is expected without any truth in it is not believed", () => {
  const noise = seededRandom(9);
  const drawn = new Map<string, number[]>();
  const expected = (point: Seen["point"]) => {
    const key = JSON.stringify(point);
    if (!drawn.has(key)) drawn.set(key, [noise(), noise()]);
    return drawn.get(key)!;
  };
  const seen = grid.map((point) => tried(square, point));
  const state = stateOf(square, seen);
  const [led, untold] = [aimOf({ ...state, expected }), aimOf(state)];
  for (const x of [0.13, 0.47, 0.81]) {
    const point = { x, y: 0.35 };
    const promise = (aim: typeof untold) => aim.promise(point, aim.features.rowOf(point));
    assert.equal(promise(led), promise(untold));
  }
});

Deno.test("the surrogate keeps away from where points came to nothing", () => {
  // All that lies left of the middle cannot be; the front would go on there.
  const half: Problem = {
    ...square,
    values: (p) => Number(p["x"]) < 0.5 ? null : square.values(p),
  };
  const deep = search(surrogate, half, 30).slice(12).filter(({ point }) =>
    Number(point["x"]) < 0.4
  );
  assert.ok(deep.length <= 4, `${deep.length}`);
});

Deno.test("the surrogate looks for what meets a constraint where nothing does yet", () => {
  const seen = grid.map(({ x, y }) => ({ x: x / 2, y }))
    .map((point) => ({ ...tried(square, point), violations: [0.6 - point.x] }));
  const made = surrogate(stateOf(square, seen));
  assert.ok(Number(made!.point["x"]) > 0.5, JSON.stringify(made));
});

Deno.test("the split: the front is good first, then what adds volume; the rest is bad", () => {
  const values = [[1, 9], [5, 5], [9, 1], [4.9, 5.2], [6, 6], [7, 7], [8, 8], [9, 9], [9, 8], [
    8,
    9,
  ]];
  const seen = values.map((row, i): Seen => ({
    point: { x: i / 10, y: 0 },
    state: "done",
    values: row,
  }));
  const { good, bad } = splitSeen(stateOf(square, seen));
  assert.deepEqual(good, [{ x: 0.1, y: 0 }]);
  assert.equal(bad.length, 9);
});

Deno.test("the split: what is under way, was refused or stopped is bad; what the machine failed is neither", () => {
  const seen = grid.map((point) => tried(square, point));
  const others = (["pending", "infeasible", "stopped", "failed"] as const)
    .map((state, i): Seen => ({ point: { x: 0.01 * i, y: 1 }, state, values: null }));
  const { bad } = splitSeen(stateOf(square, [...seen, ...others]));
  const named = (["pending", "infeasible", "stopped", "failed"] as const)
    .map((_, i) => bad.some(({ x, y }) => x === 0.01 * i && y === 1));
  assert.deepEqual(named, [true, true, true, false]);
});

Deno.test("the split: what exceeds no constraint is good before what is better and does", () => {
  const seen = Array.from({ length: 12 }, (_, i): Seen => ({
    point: { x: i / 20, y: 0 },
    state: "done",
    values: [i, i],
    violations: [i < 11 ? 11 - i : 0],
  }));
  const { good } = splitSeen(stateOf(square, seen));
  assert.deepEqual(good.map(({ x }) => x), [11 / 20, 10 / 20]);
});

Deno.test("the subset of the largest volume is that of the greedy choice without shortcuts", () => {
  const rows = grid.map(({ x, y }, i) => [x, 1 - x + 0.3 * y, (7 * i % 16) / 16]);
  const reference = [1.2, 1.5, 1.1];
  const directions = reference.map(() => "minimize" as const);
  const chosen: number[] = [];
  for (let round = 0; round < 6; round++) {
    const gain = (i: number) =>
      hypervolume([...chosen, i].map((k) => rows[k]!), reference, directions);
    const left = rows.flatMap((_, i) => chosen.includes(i) ? [] : [i]);
    chosen.push(left.reduce((best, i) => gain(i) > gain(best) + 1e-15 ? i : best));
  }
  assert.deepEqual(largestVolume(rows, reference, 6), chosen);
});
