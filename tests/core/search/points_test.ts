/** Points of a space with conditions: which values they have, and ways from one to another. */
import assert from "node:assert/strict";
import {
  activeDimensions,
  checkPoint,
  type Dimension,
  drawOpenPoint,
  gridPoints,
  nextOfGrid,
  openPoints,
  pointKey,
  pointNeighbours,
  randomPoint,
  seededRandom,
  type Seen,
  type Space,
  type SpacePoint,
  unitOf,
  valueAt,
  withValue,
} from "../../../core/mod.ts";

const space: Space = {
  dimensions: [
    { name: "method", kind: "choice", choices: ["none", "near", "far"] },
    {
      name: "bits",
      kind: "ordinal",
      choices: [2, 3, 4, 8],
      default: 4,
      when: { name: "method", is: ["near", "far"] },
    },
    {
      name: "windows",
      kind: "integer",
      minimum: 1,
      maximum: 64,
      log: true,
      when: { name: "method", is: ["far"] },
    },
    { name: "tuned", kind: "choice", choices: [false, true] },
    {
      name: "rate",
      kind: "real",
      minimum: 1e-5,
      maximum: 1e-3,
      log: true,
      when: { name: "tuned", is: [true] },
    },
  ],
  forbidden: ({ method, bits }) => method === "far" && bits === 2 ? "far needs 3 bits" : null,
};
const far: SpacePoint = { method: "far", bits: 4, windows: 8, tuned: true, rate: 1e-4 };

Deno.test("a point has the dimensions whose conditions it meets", () => {
  const names = (point: SpacePoint) => activeDimensions(space, point).map(({ name }) => name);
  assert.deepEqual(names({ method: "none", tuned: false }), ["method", "tuned"]);
  assert.deepEqual(names(far), ["method", "bits", "windows", "tuned", "rate"]);
  for (let seed = 0; seed < 50; seed++) {
    const point = randomPoint({ dimensions: space.dimensions }, seededRandom(seed));
    assert.deepEqual(Object.keys(point), names(point));
    assert.equal(checkPoint({ dimensions: space.dimensions }, point), null);
  }
});

Deno.test("a value is found again at its place, and a place keeps within the range", () => {
  for (const dimension of space.dimensions) {
    for (let i = 0; i <= 40; i++) {
      const value = valueAt(dimension, i / 40);
      assert.deepEqual(valueAt(dimension, unitOf(dimension, value)), value);
    }
  }
  const windows = space.dimensions[2]!;
  assert.deepEqual([valueAt(windows, 0), valueAt(windows, 1)], [1, 64]);
  const rate = space.dimensions[4]!;
  assert.ok(Math.abs(Number(valueAt(rate, 0.5)) - 1e-4) < 1e-9, "the middle of its logarithm");
});

Deno.test("choices and whole numbers have equal shares of the range", () => {
  const five: Dimension = { name: "five", kind: "integer", minimum: 3, maximum: 7 };
  const counts = new Map<unknown, number>();
  for (let i = 0; i < 1000; i++) {
    const value = valueAt(five, (i + 0.5) / 1000);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  assert.deepEqual([...counts], [[3, 200], [4, 200], [5, 200], [6, 200], [7, 200]]);
});

Deno.test("a point's key does not depend on how it was written", () => {
  const turned = Object.fromEntries(Object.entries(far).reverse());
  assert.equal(pointKey(space, turned), pointKey(space, far));
  assert.notEqual(pointKey(space, { ...far, bits: 8 }), pointKey(space, far));
});

Deno.test("what is no point of the space is told in words", () => {
  const why = (point: SpacePoint) => String(checkPoint(space, point));
  assert.equal(checkPoint(space, far), null);
  assert.match(why({ ...far, bits: 5 }), /bits is 5: it is one of 2, 3, 4, 8/);
  assert.match(why({ ...far, windows: 65 }), /windows is 65: it is a whole number from 1 to 64/);
  assert.match(why({ ...far, windows: 2.5 }), /whole number/);
  assert.match(why({ ...far, rate: NaN }), /rate is NaN/);
  assert.match(why({ ...far, speed: 1 }), /no dimension speed/);
  assert.match(why({ method: "near", tuned: false }), /bits has no value/);
  assert.match(why({ method: "none", bits: 4, tuned: false }), /method rules it out/);
  assert.match(why({ ...far, bits: 2 }), /far needs 3 bits/);
});

Deno.test("another value brings what hangs on it, and takes what hung on the old one", () => {
  assert.deepEqual(withValue(space, far, { name: "method", value: "none" }), {
    method: "none",
    tuned: true,
    rate: 1e-4,
  });
  const begun = withValue(space, { method: "none", tuned: false }, {
    name: "method",
    value: "far",
  });
  assert.deepEqual(begun, { method: "far", bits: 4, windows: 6, tuned: false });
});

Deno.test("neighbours differ in one choice or one step, are points, and none is forbidden", () => {
  const near = pointNeighbours(space, { ...far, bits: 3 });
  assert.ok(near.every((point) => checkPoint(space, point) === null));
  assert.ok(near.some(({ method }) => method === "none"));
  assert.ok(near.some(({ windows }) => windows === 9) && near.some(({ windows }) => windows === 7));
  assert.ok(!near.some(({ bits }) => bits === 2), "forbidden");
  const keys = near.map((point) => pointKey(space, point));
  assert.equal(new Set(keys).size, keys.length);
  assert.ok(!keys.includes(pointKey(space, { ...far, bits: 3 })));
});

Deno.test("the grid comes to every point of a finite space once, the usual ones first", () => {
  const [method, bits, , tuned] = space.dimensions;
  const few: Space = { dimensions: [method!, bits!, tuned!] };
  const keys = [...gridPoints(few)].map((point) => pointKey(few, point));
  assert.equal(keys.length, 2 * (1 + 4 + 4), "none; near and far with 4 widths; each tuned or not");
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(keys[0], pointKey(few, { method: "none", tuned: false }));
  assert.ok(keys.indexOf(pointKey(few, { method: "near", bits: 4, tuned: false })) < 4);
  const window: Dimension = { name: "window", kind: "integer", minimum: 1, maximum: 50, log: true };
  assert.equal([...gridPoints({ dimensions: [window] })].length, 50);
});

Deno.test("a point is open while it was not tried, and after one failure of the machine's", () => {
  const is = (state: Seen["state"], times = 1) => {
    const seen = Array.from({ length: times }, (): Seen => ({ point: far, state, values: null }));
    return openPoints({ space, seen })(far);
  };
  assert.ok(openPoints({ space, seen: [] })(far));
  assert.ok(is("failed") && !is("failed", 2));
  for (const state of ["done", "stopped", "infeasible", "pending"] as const) assert.ok(!is(state));
  assert.ok(!openPoints({ space, seen: [] })({ ...far, bits: 2 }), "forbidden");
});

Deno.test("what is left of a nearly exhausted space is drawn; of an exhausted one nothing", () => {
  const window: Dimension = { name: "window", kind: "integer", minimum: 1, maximum: 3000 };
  const line: Space = {
    dimensions: [window],
    forbidden: ({ window }) => window === 7 ? null : "no",
  };
  const random = seededRandom(1);
  assert.equal(drawOpenPoint({ space: line, seen: [], random })?.["window"] ?? null, null);
  const short: Space = { dimensions: [{ ...window, maximum: 60 }], forbidden: line.forbidden! };
  assert.deepEqual(drawOpenPoint({ space: short, seen: [], random }), { window: 7 });
  const seen: Seen[] = [{ point: { window: 7 }, state: "done", values: [1] }];
  assert.equal(drawOpenPoint({ space: short, seen, random }), null);
  assert.equal(nextOfGrid({ space: short, seen }, () => false), null);
});
