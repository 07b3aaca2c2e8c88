import assert from "node:assert/strict";
import { seededRandom, streamRandom } from "../../core/mod.ts";

const take = (random: () => number, n: number) => Array.from({ length: n }, random);

Deno.test("seededRandom() repeats for the same seed and differs for the next", () => {
  assert.deepEqual(take(seededRandom(42), 20), take(seededRandom(42), 20));
  const firsts = new Set(Array.from({ length: 1000 }, (_, seed) => seededRandom(seed)()));
  assert.equal(firsts.size, 1000);
  assert.notEqual(seededRandom(1)(), seededRandom(1 + 2 ** 32)());
});

Deno.test("seededRandom() gives the numbers of a separate sfc32, for ever", () => {
  // Made with 64-bit integers masked to 32 bits, from the generator's published recurrence.
  const expected = [3264830480, 3866967580, 2217849601];
  assert.deepEqual(take(seededRandom(42), 3).map((x) => x * 2 ** 32), expected);
});

Deno.test("streamRandom() gives each label numbers of its own", () => {
  const search = take(streamRandom(42, "search"), 50);
  const bootstrap = take(streamRandom(42, "bootstrap"), 50);
  assert.equal(new Set([...search, ...bootstrap]).size, 100);
  assert.deepEqual(take(streamRandom(42, "search"), 50), search);
});

Deno.test("seededRandom() is uniform in [0, 1), each number free of the one before", () => {
  const numbers = take(seededRandom(3), 20_000);
  assert.ok(numbers.every((x) => x >= 0 && x < 1));
  const bins = new Array<number>(16).fill(0);
  for (const x of numbers) bins[Math.floor(16 * x)]!++;
  const chi = bins.reduce((sum, n) => sum + (n - 1250) ** 2 / 1250, 0);
  assert.ok(chi < 37.7, `chi-squared ${chi} with 15 degrees of freedom`); // p = 0.001
  const covariance = numbers.slice(1).reduce((s, x, i) => s + (x - 0.5) * (numbers[i]! - 0.5), 0);
  assert.ok(Math.abs(covariance / numbers.length) < 0.0025);
});

Deno.test("seededRandom() refuses a seed that is no whole number from 0", () => {
  for (const seed of [-1, 1.5, NaN, Infinity]) {
    assert.throws(() => seededRandom(seed), { name: "RangeError", message: /whole number/ });
  }
});
