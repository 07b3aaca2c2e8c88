/** Points that fill the unit cube evenly. */
import assert from "node:assert/strict";
import { HALTON_COORDINATES, radicalInverse, scrambledHalton } from "../../../core/mod.ts";

Deno.test("radical inverses are the published first points of Halton's sequence", () => {
  const first = (base: number) => Array.from({ length: 6 }, (_, i) => radicalInverse(i, base));
  assert.deepEqual(first(2), [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8]);
  const thirds = [0, 1 / 3, 2 / 3, 1 / 9, 4 / 9, 7 / 9];
  first(3).forEach((value, i) => assert.ok(Math.abs(value - thirds[i]!) < 1e-15));
  assert.ok(Math.abs(radicalInverse(1234, 10) - 0.4321) < 1e-15);
});

Deno.test("scrambled, the first b^k points still lie one in each of b^k equal parts", () => {
  const bases = [[2, 0], [3, 1], [5, 2], [7, 3]] as const;
  for (const seed of [0, 1, 77]) {
    const halton = scrambledHalton(seed);
    for (const [base, coordinate] of bases) {
      const parts = base ** 3;
      for (const start of [0, parts, 5 * parts]) {
        const hit = Array.from(
          { length: parts },
          (_, i) => Math.floor(halton(start + i, coordinate) * parts + 1e-9),
        );
        assert.equal(new Set(hit).size, parts, `base ${base} from ${start}`);
      }
    }
  }
});

Deno.test("the same seed gives the same sequence, another one another", () => {
  const points = (seed: number) => {
    const halton = scrambledHalton(seed);
    return Array.from({ length: 20 }, (_, i) => [0, 1, 2].map((k) => halton(i, k)));
  };
  assert.deepEqual(points(4), points(4));
  assert.notDeepEqual(points(4), points(5));
});

Deno.test("every coordinate is uniform in [0, 1)", () => {
  const halton = scrambledHalton(9);
  for (const coordinate of [0, 20, HALTON_COORDINATES - 1]) {
    const values = Array.from({ length: 2000 }, (_, i) => halton(i, coordinate));
    assert.ok(values.every((one) => one >= 0 && one < 1));
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
    assert.ok(Math.abs(mean - 0.5) < 0.03, `${coordinate}: ${mean}`);
  }
  assert.throws(() => halton(0, HALTON_COORDINATES), /coordinate 100/);
});
