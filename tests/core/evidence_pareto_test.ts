import assert from "node:assert/strict";
import {
  type Direction,
  hypervolume,
  hypervolumeContributions,
  paretoFront,
  paretoRanks,
  standingsOf,
  streamRandom,
} from "../../core/mod.ts";

const down = (dimensions: number): Direction[] => new Array(dimensions).fill("minimize");

/** p_i = (frac(i·√2), frac(i·√3), frac(i·√5), …), i from 1: points anyone can make again. */
function golden(n: number, dimensions: number): number[][] {
  const roots = [2, 3, 5, 7, 11].slice(0, dimensions).map(Math.sqrt);
  return Array.from({ length: n }, (_, i) => roots.map((root) => ((i + 1) * root) % 1));
}

/** Reference 1.1 everywhere; computed once by Optuna's Python code. */
const GOLDEN = [
  { m: 2, n: 10, volume: 0.8989124222524999, fronts: 3, first: 4, sum: 9 },
  { m: 2, n: 100, volume: 1.163427135569991, fronts: 8, first: 5, sum: 323 },
  { m: 3, n: 10, volume: 0.7217436258638018, fronts: 3, first: 5, sum: 7 },
  { m: 3, n: 100, volume: 1.159974896909572, fronts: 6, first: 19, sum: 195 },
  { m: 4, n: 10, volume: 0.5450723323035024, fronts: 2, first: 7, sum: 3 },
  { m: 4, n: 100, volume: 1.0122866755682014, fronts: 4, first: 45, sum: 83 },
  { m: 5, n: 10, volume: 0.43435145183268353, fronts: 2, first: 8, sum: 2 },
  { m: 5, n: 100, volume: 0.855001561437809, fronts: 3, first: 64, sum: 42 },
];

for (const { m, n, volume, fronts, first, sum } of GOLDEN) {
  Deno.test(`hypervolume() and paretoRanks() give the golden values of ${n} points in ${m}-D`, () => {
    const points = golden(n, m);
    const reference = new Array(m).fill(1.1);
    const found = hypervolume(points, reference, down(m));
    assert.ok(Math.abs(found - volume) < 1e-12, `${found} against ${volume}`);
    const ranks = paretoRanks(points, down(m));
    assert.equal(Math.max(...ranks) + 1, fronts);
    assert.equal(ranks.filter((rank) => rank === 0).length, first);
    assert.equal(ranks.reduce((a, b) => a + b, 0), sum);
    assert.equal(paretoFront(points, down(m)).length, first);
  });
}

Deno.test("hypervolume() agrees with counting random points, in every dimension", () => {
  for (const m of [2, 3, 4]) {
    const random = streamRandom(1, `count ${m}`);
    const points = golden(12, m);
    const inside = Array.from({ length: 40_000 }, () => points[0]!.map(() => 1.1 * random()))
      .filter((x) => points.some((p) => p.every((value, i) => value <= x[i]!))).length;
    const counted = inside / 40_000 * 1.1 ** m;
    const found = hypervolume(points, new Array(m).fill(1.1), down(m));
    assert.ok(Math.abs(found - counted) < 0.02, `${m}-D: ${found} against ${counted}`);
  }
});

Deno.test("paretoFront() keeps the points nothing beats, duplicates included", () => {
  const points = [[0.9, 10], [0.8, 5], [0.7, 20], [0.8, 5], [0.9, 11]];
  assert.deepEqual(paretoFront(points, ["maximize", "minimize"]), [0, 1, 3]);
  assert.deepEqual(paretoRanks(points, ["maximize", "minimize"]), [0, 0, 2, 0, 1]);
});

Deno.test("paretoFront() keeps a point that is equal in all but the objective it wins", () => {
  assert.deepEqual(paretoFront([[1, 2, 3], [1, 2, 2]], down(3)), [1]);
});

Deno.test("paretoFront() refuses a value that is not a number, and says which", () => {
  assert.throws(
    () => paretoFront([[1, 2], [1, NaN]], down(2)),
    /objective 1 of point 1 is not a number/,
  );
  assert.throws(() => paretoFront([[1, 2], [1]], down(2)), /point 1 has 1/);
});

Deno.test("hypervolume() adds nothing for a point on or beyond the reference, or at infinity", () => {
  assert.equal(hypervolume([], [1, 1], down(2)), 0);
  assert.equal(hypervolume([[1, 0], [2, -1], [Infinity, 0]], [1, 1], down(2)), 0);
  assert.equal(hypervolume([[0.5, 0.5], [0.5, 0.5], [1, 0]], [1, 1], down(2)), 0.25);
});

Deno.test("hypervolume() turns maximised objectives over, the reference too", () => {
  assert.equal(hypervolume([[0.5, 2]], [0, 3], ["maximize", "minimize"]), 0.5);
});

Deno.test("hypervolumeContributions() are what the volume loses without each point", () => {
  const points = [[0, 2], [1, 1], [2, 0], [2, 2], [1, 1]];
  assert.deepEqual(hypervolumeContributions(points, [3, 3], down(2)), [1, 0, 1, 0, 0]);
  assert.deepEqual(hypervolumeContributions(points.slice(0, 4), [3, 3], down(2)), [1, 1, 1, 0]);
});

/** Whole-numbered points, some of them equal and some beyond the reference. */
function gridPoints(n: number, dimensions: number, random: () => number): number[][] {
  const side = dimensions > 3 ? 6 : 9;
  return Array.from(
    { length: n },
    () => Array.from({ length: dimensions }, () => Math.floor(random() * side)),
  );
}

/** Every cell of a grid by its lower corner. */
function cells(side: number, dimensions: number): number[][] {
  if (dimensions === 0) return [[]];
  const rest = cells(side, dimensions - 1);
  return Array.from({ length: side }, (_, i) => rest.map((cell) => [i, ...cell])).flat();
}

Deno.test("hypervolume() and its contributions are the cells of a grid that are counted", () => {
  for (const m of [1, 2, 3, 4]) {
    const side = m > 3 ? 5 : 8; // the reference: points may lie on it
    const grid = cells(side, m);
    for (let seed = 0; seed < 40; seed++) {
      const random = streamRandom(seed, `grid ${m}`);
      const points = gridPoints(1 + seed % 14, m, random);
      const beats = grid.map((cell) => points.filter((p) => p.every((x, i) => x <= cell[i]!)));
      const reference = new Array(m).fill(side);
      const volume = beats.filter((by) => by.length > 0).length;
      assert.equal(hypervolume(points, reference, down(m)), volume, `${m}-D, seed ${seed}`);
      assert.deepEqual(
        hypervolumeContributions(points, reference, down(m)),
        points.map((p) => beats.filter((by) => by.length === 1 && by[0] === p).length),
        `${m}-D, seed ${seed}`,
      );
    }
  }
});

Deno.test("hypervolumeContributions() of a front of 300 is what the volume is less without each", () => {
  const random = streamRandom(7, "front");
  const points = Array.from({ length: 300 }, () => {
    const angles = [random(), random()].map((x) => x * Math.PI / 2);
    const [a, b] = angles as [number, number];
    return [1 - Math.cos(a) * Math.cos(b), 1 - Math.cos(a) * Math.sin(b), 1 - Math.sin(a)];
  });
  const reference = [1.1, 1.1, 1.1];
  const all = hypervolume(points, reference, down(3));
  hypervolumeContributions(points, reference, down(3)).forEach((contribution, left) => {
    const without = hypervolume(points.filter((_, i) => i !== left), reference, down(3));
    assert.ok(contribution > 0 && Math.abs(contribution - (all - without)) < 1e-12);
  });
});

Deno.test("standingsOf() gives a member's contribution as what the front is worth without the trial", () => {
  const yardstick = {
    scale: [1, 2, 4],
    reference: [0, 1.1, 1.1],
    directions: ["maximize", "minimize", "minimize"] as Direction[],
  };
  for (let seed = 0; seed < 60; seed++) {
    const random = streamRandom(seed, "standings");
    // Coarse values, so that some are doubled and most are beaten.
    const points = Array.from({ length: 4 + seed % 9 }, () => [
      Math.round(10 * random()) / 10,
      2 * Math.round(10 * random()) / 10,
      4 * Math.round(10 * random()) / 10,
    ]);
    const worth = (list: number[][]) => {
      const front = paretoFront(list, yardstick.directions).map((i) => list[i]!);
      const scaled = front.map((p) => p.map((value, i) => value / yardstick.scale[i]!));
      return hypervolume(scaled, yardstick.reference, yardstick.directions);
    };
    standingsOf(points, yardstick).forEach(({ rank, contribution }, left) => {
      const lost = worth(points) - worth(points.filter((_, i) => i !== left));
      assert.ok(Math.abs(contribution - lost) < 1e-12, `seed ${seed}: ${contribution}, ${lost}`);
      if (rank > 0) assert.equal(contribution, 0);
    });
  }
});

Deno.test("standingsOf() counts who returns when a member leaves: 0.03, not the 0.16 it covers alone", () => {
  const yardstick = {
    scale: [1, 1],
    reference: [0, 1.1],
    directions: ["maximize", "minimize"] as Direction[],
  };
  // Alone the member fills 0.8 · 0.2 = 0.16; the point it beats fills 0.65 · 0.2 = 0.13 of that.
  const [member, beaten] = standingsOf([[0.8, 0.9], [0.65, 0.9]], yardstick);
  assert.ok(Math.abs(member!.contribution - 0.03) < 1e-12, String(member!.contribution));
  assert.equal(beaten!.contribution, 0);
});
