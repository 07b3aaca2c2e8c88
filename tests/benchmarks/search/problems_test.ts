/** The problems are those that others know: golden values, and what their fronts are worth. */
import assert from "node:assert/strict";
import { hypervolume, randomPoint, seededRandom, type SpacePoint } from "../../../core/mod.ts";
import {
  braninCurrin,
  CONTINUOUS,
  dtlz2,
  vehicleSafety,
  zdt1,
  zdt2,
  zdt3,
  zdt6,
} from "./problems/continuous_problems.ts";
import { bestKnown } from "./problems/best_known.ts";
import { COMPRESSIONS } from "./problems/compression_problems.ts";
import { toldLimits, trying, volumeOf } from "./problems/outcomes.ts";
import { MIXED, mixedObjectives } from "./problems/mixed_problem.ts";
import { recordedProblem, RecordedTable } from "./problems/recorded_problem.ts";

/** frac((i + 1)·√2), i from 0. */
const place = (variables: number) =>
  Array.from({ length: variables }, (_, i) => ((i + 1) * Math.SQRT2) % 1);

function same(found: readonly number[] | null, wanted: readonly number[]) {
  assert.equal(found?.length, wanted.length);
  found!.forEach((value, i) =>
    assert.ok(Math.abs(value - wanted[i]!) < 1e-12 * Math.max(1, Math.abs(wanted[i]!)), `${found}`)
  );
}

Deno.test("the continuous problems give the golden values", () => {
  same(zdt1(place(30)), [0.41421356237309515, 3.9090518195119626]);
  same(zdt2(place(30)), [0.41421356237309515, 5.373632503113041]);
  same(zdt3(place(30)), [0.41421356237309515, 3.7301776761770524]);
  same(zdt6(place(10)), [0.8104819349689023, 8.434572892980434]);
  same(dtlz2(2)(place(6)), [1.1003648507313912, 0.8376228960021832]);
  same(dtlz2(3)(place(12)), [0.3970120035633267, 1.4372702266644857, 1.1350556076212606]);
  same(braninCurrin(place(2)), [80.06308282600595, 5.601304154884123]);
  same(vehicleSafety(place(5)), [1680.5020794302561, 9.962732338924532, 0.10385138010561795]);
});

const plain = { prune: "none", ft: false };
const GOLDEN: readonly (readonly [SpacePoint, readonly number[]])[] = [
  [{ quant: "none", ...plain, kv: 16 }, [0, 19.66, 10.735999999999999]],
  [
    { quant: "rtn", bits: 4, group: 128, sym: false, ...plain, kv: 16 },
    [0.03200000000000003, 7.771835937500001, 4.0031015624999995],
  ],
  [
    { quant: "gptq", bits: 4, group: 128, sym: false, calib: 128, ...plain, kv: 8 },
    [0.0236240233988394, 6.771835937500001, 3.9531015624999997],
  ],
  [
    {
      ...{ quant: "awq", bits: 4, group: 64, sym: true, calib: 64, prune: "2:4" },
      ...{ ft: true, rank: 16, lr: 1e-4, kv: 8 },
    },
    [0.06570345539423526, 4.99958984375, 2.6018031249999996],
  ],
  [
    {
      ...{ quant: "autoround", bits: 2, group: 32, sym: false, calib: 512 },
      ...{ prune: "structured", sparsity: 0.3, ft: true, rank: 64, lr: 2e-4, kv: 4 },
    },
    [0.2746218262138605, 3.9443906249999996, 3.6316343749999995],
  ],
  [
    { quant: "none", prune: "unstructured", sparsity: 0.5, ft: false, kv: 4 },
    [0.059194173824159244, 18.16, 10.661],
  ],
];

Deno.test("the mixed problem gives the golden values, and knows what does not go together", () => {
  for (const [point, wanted] of GOLDEN) same(mixedObjectives(point), wanted);
  const odd = { quant: "awq", bits: 3, group: 64, sym: true, calib: 64, ...plain, kv: 8 };
  assert.equal(mixedObjectives(odd), null);
  const sparse = { quant: "rtn", bits: 2, group: 64, sym: true, prune: "2:4", ft: false, kv: 8 };
  assert.equal(mixedObjectives(sparse), null);
});

Deno.test("nothing on the way to a true front beats its greatest hypervolume", () => {
  const at = (name: string) => CONTINUOUS.find((one) => one.name === name)!;
  const steps = Array.from({ length: 2001 }, (_, i) => i / 2000);
  const fronts: Record<string, number[][]> = {
    zdt1: steps.map((f) => zdt1([f, ...Array(29).fill(0)])),
    zdt2: steps.map((f) => zdt2([f, ...Array(29).fill(0)])),
    zdt3: steps.map((f) => zdt3([f, ...Array(29).fill(0)])),
    zdt6: steps.map((f) => zdt6([f, ...Array(9).fill(0)])),
    dtlz2_d6: steps.map((f) => dtlz2(2)([f, ...Array(5).fill(0.5)])),
  };
  for (const [name, points] of Object.entries(fronts)) {
    const { reference, maximum } = at(name);
    const found = hypervolume(points, reference, reference.map(() => "minimize")) / maximum;
    assert.ok(found > 0.998 && found < 1 + 1e-6, `${name}: ${found}`);
  }
  assert.equal(CONTINUOUS.length + [MIXED].length, 9);
});

Deno.test("a search of a problem's own finds most of the greatest hypervolume, and never more", () => {
  for (const problem of COMPRESSIONS) {
    const found = bestKnown(problem, 3000) / problem.maximum;
    assert.ok(found > 0.85 && found < 1 + 1e-6, `${problem.name}: ${found}`);
  }
});

/** Shares of 1,000 random points: those that cannot be, and of the others those that exceed a limit. */
function sharesOf({ space, evaluate, violations }: (typeof COMPRESSIONS)[number]) {
  const random = seededRandom(1);
  const values = Array.from({ length: 1000 }, () => evaluate(randomPoint(space, random)));
  const can = values.filter((one) => one !== null);
  const broken = can.filter((one) => violations?.(one).some((by) => by > 0));
  return { cannot: 1 - can.length / 1000, broken: broken.length / can.length };
}

Deno.test("the problems are of the kinds that they are named for", () => {
  const of = (name: string) => COMPRESSIONS.find((one) => one.name === name)!;
  const about = (share: number, wanted: number) =>
    assert.ok(Math.abs(share - wanted) < 0.05, `${share}`);
  about(sharesOf(of("thirds")).cannot, 0.61);
  about(sharesOf(of("thirds_limits")).broken, 0.97);
  about(sharesOf(of("chain_limits")).broken, 0.69);
  about(sharesOf(of("factors_limits")).broken, 0.88);
  assert.equal(of("chain").space.dimensions.length, 13);
  assert.ok(COMPRESSIONS.some(({ tuned }) => !tuned) && COMPRESSIONS.some(({ tuned }) => tuned));
});

Deno.test("paired runs meet the same failures and errors; a front is picked by what was measured", () => {
  const at = (name: string) => COMPRESSIONS.find((one) => one.name === name)!;
  const random = seededRandom(3);
  const points = Array.from({ length: 200 }, () => randomPoint(at("knee").space, random));
  const failing = points.map(trying(at("knee_failures"), 4));
  assert.deepEqual(points.map(trying(at("knee_failures"), 4)), failing);
  const failed = failing.filter(({ state }) => state === "failed").length / 200;
  assert.ok(Math.abs(failed - 0.3) < 0.1, `${failed}`);
  const noisy = { ...at("knee"), errors: () => [0.5, 0] };
  const shown = points.map(trying(noisy, 4));
  const exact = points.map(trying(at("knee"), 4));
  assert.ok(volumeOf(noisy, shown) < volumeOf(at("knee"), exact), "errors cost volume");
  const broken = trying(at("thirds_limits"), 0)({
    ...{ b0: 2, b1: 2, b2: 2, s0: 0.6, s1: 0.6, s2: 0.6, fit: "plain", pack: "dense" },
    ...{ kv: 4, skip: 9, heal: false },
  });
  assert.equal(broken.truth, null, "what exceeds a limit is on no front");
  assert.deepEqual(
    toldLimits(at("thirds"), [4, 15]),
    [1, 0],
    "a corner that is told is a limit to others",
  );
});

const table: RecordedTable = {
  name: "few",
  source: "made up",
  dimensions: [
    { name: "bits", kind: "ordinal", choices: [4, 8] },
    { name: "tuned", kind: "choice", choices: [false, true], when: { name: "bits", is: [4] } },
  ],
  objectives: [
    { metric: "accuracy", direction: "maximize", reference: 0 },
    { metric: "size_bytes", direction: "minimize", reference: 10 },
  ],
  rows: [
    { point: { bits: 8 }, values: [0.5, 8] },
    { point: { bits: 4, tuned: false }, values: [0.3, 4], seconds: 12 },
    { point: { bits: 4, tuned: true }, values: null },
  ],
};

Deno.test("a recorded table is looked up; what failed or was not run is invalid", () => {
  const { evaluate, reference, maximum } = recordedProblem(RecordedTable.parse(table));
  assert.deepEqual(evaluate({ bits: 8 }), [-0.5, 8]);
  assert.equal(evaluate({ bits: 4, tuned: true }), null);
  assert.deepEqual(reference, [-0, 10]);
  assert.ok(Math.abs(maximum - (0.5 * 2 + 0.3 * 4)) < 1e-12);
  const less = recordedProblem({ ...table, rows: table.rows.slice(0, 1) });
  assert.equal(less.evaluate({ bits: 4, tuned: false }), null, "never the nearest one");
});

Deno.test("a table that does not fit its own space is refused in words", () => {
  const broken = (rows: RecordedTable["rows"], message: RegExp) =>
    assert.throws(() => recordedProblem({ ...table, rows }), message);
  broken([{ point: { bits: 3 }, values: [1, 1] }], /row 0 .* bits is 3: it is one of 4, 8/);
  broken([...table.rows, table.rows[0]!], /row 3 .* stands in the table twice/);
  broken([{ point: { bits: 8 }, values: [1] }], /1 values for 2 objectives/);
  broken([{ point: { bits: 8 }, values: [-1, 1] }], /no row beats its reference/);
});
