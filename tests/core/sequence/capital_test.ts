/** The capital and its intervals against the reference's golden values, and at their ends. */
import assert from "node:assert/strict";
import {
  countTaken,
  type Draw,
  type DrawnSequence,
  drawOrder,
  expectedSamples,
  judgeSequence,
  logCapitals,
  sequenceInterval,
} from "../../../core/mod.ts";

const BATCHES = [[3, 2], [2, 3], [4, 1], [2, 2], [1, 3], [3, 2]] as const;

/** Batches of 50 with so many lost and gained; `population` null: endless. */
function sequence(
  counts: readonly (readonly [lost: number, gained: number])[],
  population: number | null,
): DrawnSequence {
  const share = population === null ? 0 : 1 / population;
  const draw = (difference: number, times: number): Draw => ({
    difference,
    times,
    share,
    stake: 1,
  });
  const batches = counts.map(([lost, gained]) => [
    draw(1, lost),
    draw(0, 50 - lost - gained),
    draw(-1, gained),
  ]);
  return { batches };
}

const GOLDEN = [
  [null, 1, -0.313897539402, -0.330932717891, -0.168308019, 0.212422080],
  [null, 3, -0.643079195054, -0.663797812900, -0.068388509, 0.112164167],
  [null, 6, -1.676006962454, -0.186017105438, -0.051596360, 0.065046902],
  [1000, 1, -0.313897539402, -0.330932717891, -0.168308019, 0.212422080],
  [1000, 3, -0.665880343152, -0.640706776212, -0.064554800, 0.106620173],
  [1000, 6, -1.749691734841, -0.088609751581, -0.043173376, 0.057631620],
] as const;

const near = (actual: number, expected: number, by: number) =>
  assert.ok(Math.abs(actual - expected) <= by, `${actual} is not ${expected}`);

Deno.test("capitals and intervals are the reference's to 1e-12 and 1e-9", () => {
  for (const [population, count, above, below, low, high] of GOLDEN) {
    const taken = sequence(BATCHES.slice(0, count), population);
    near(logCapitals(taken, 0.02, 1).at(-1)!, above, 1e-12);
    near(logCapitals(taken, 0.02, -1).at(-1)!, below, 1e-12);
    const interval = sequenceInterval(taken, 0.05, "last")!;
    near(interval[0], low, 1e-9);
    near(interval[1], high, 1e-9);
  }
});

Deno.test("an interval over all looks is never wider than that of its last look", () => {
  const taken = sequence([...BATCHES, [12, 0], [0, 0], [0, 9]], 1000);
  const [low, high] = sequenceInterval(taken)!;
  const [last_low, last_high] = sequenceInterval(taken, 0.05, "last")!;
  assert.ok(low >= last_low - 1e-9 && high <= last_high + 1e-9);
});

Deno.test("where all of the population is taken its mean decides, a hair of rounding apart", () => {
  const all = (lost: number) => sequence([[lost, 0], [0, 0]], 100);
  assert.equal(judgeSequence(all(2), 0.02).verdict, "met", "2 of 100 is the limit itself");
  assert.deepEqual(sequenceInterval(all(2)), [0.02, 0.02]);
  const three = judgeSequence(all(3), 0.02);
  assert.equal(three.verdict, "violated");
  assert.ok(three.exact);
  assert.equal(judgeSequence(sequence([[3, 0], [0, 0]], 101), 0.02).verdict, "undecided");
});

Deno.test("the first verdict stands, with the samples that it took", () => {
  const taken = sequence([[20, 0], [20, 0], [20, 0], [0, 20], [0, 20]], 5000);
  const { verdict, n, exact } = judgeSequence(taken, 0.02);
  assert.deepEqual({ verdict, n, exact }, { verdict: "violated", n: 50, exact: false });
  assert.equal(countTaken(taken), 250);
  assert.equal(sequenceInterval({ batches: [] }), null);
  assert.equal(judgeSequence({ batches: [] }, 0.02).verdict, "undecided");
});

Deno.test("scores between 0 and 1, and samples of unequal shares by their stakes", () => {
  const even = { batches: [[0.5, 0, -0.25, 1].map(one(0.01))] };
  const [low, high] = sequenceInterval(even)!;
  assert.ok(low < 0.3125 && high > 0.3125 && low > -1 && high < 1);
  // Of two parts, the one of the larger share hardly changes, the other loses a tenth.
  const batches = Array.from({ length: 25 }, (_, batch) =>
    Array.from({ length: 40 }, (_, i) => {
      const large = i % 4 > 0;
      const lost = large ? batch === 0 && i < 4 : i % 40 === 0;
      // Three in four hold 0.8 of the mean, the others 0.2.
      return one(large ? 0.8 / 750 : 0.2 / 250, large ? 0.8 / 0.75 : 0.2 / 0.25)(lost ? 1 : 0);
    }));
  const whole = { batches };
  const mean = 3 * 0.8 / 750 + 25 * 0.2 / 250;
  assert.equal(judgeSequence(whole, mean + 1e-9).verdict, "met");
  near(sequenceInterval(whole)![0], mean, 1e-9);
  const most = { batches: batches.slice(0, 24) };
  const interval = sequenceInterval(most)!;
  assert.ok(interval[0] <= mean && mean <= interval[1]);
});

function one(share: number, stake = 1): (difference: number) => Draw {
  return (difference) => ({ difference, times: 1, share, stake });
}

Deno.test("what is left of a population bounds its mean whatever the capital says", () => {
  const [low, high] = sequenceInterval({
    batches: [Array.from({ length: 90 }, () => one(0.01)(0))],
  })!;
  assert.ok(low >= -0.1 && high <= 0.1, `${low} ${high}`);
});

/** A part of the benchmark with so many samples at hand of those that exist. */
function part(name: string, count: number, existing: number | null, share: number) {
  return { samples: Array.from({ length: count }, (_, i) => `${name}${i}`), existing, share };
}

/** By batch: how many samples of each part it has, and what bets on them are multiplied by. */
function batchesOf(order: ReturnType<typeof drawOrder<string>>) {
  return [...Map.groupBy(order, ({ batch }) => batch).values()].map((own) => {
    const parts = [...Map.groupBy(own, ({ sample }) => sample[0]!)];
    return Object.fromEntries(
      parts.map(([name, of]) => [name, [of.length, of[0]!.stake] as const]),
    );
  });
}

Deno.test("parts are taken in proportion to what they still hold, until all that exist are", () => {
  const parts = [part("a", 400, 400, 0.5), part("b", 100, 100, 0.5)];
  const order = drawOrder(parts);
  assert.equal(order.length, 500, "all that exist are at hand");
  near(order.reduce((sum, { share }) => sum + share, 0), 1, 1e-12);
  const [first] = batchesOf(order);
  assert.deepEqual(first, { a: [25, 1], b: [25, 1] }, "equal shares at first");
  assert.deepEqual(
    order.filter(({ sample }) => sample.startsWith("b")).map(({ sample }) => sample),
    parts[1]!.samples,
    "within a part the given order",
  );
  assert.deepEqual(drawOrder([]), []);
  assert.deepEqual(batchesOf(drawOrder([part("a", 120, null, 1)])).map(({ a }) => a![0]), [
    50,
    50,
    20,
  ]);
});

Deno.test("of a part of which few are at hand each batch has some, and stakes make up for the rest", () => {
  const order = drawOrder([part("a", 300, 3000, 0.5), part("b", 10, 1000, 0.5)]);
  assert.equal(order.length, 310, "none is left unused");
  for (const batch of batchesOf(order)) {
    const size = Object.values(batch).reduce((sum, [count]) => sum + count, 0);
    const held = Object.values(batch).reduce((sum, [count, stake]) => sum + count * stake, 0);
    near(held, size, 1e-9);
    assert.ok(batch["a"]![0] >= 1 && batch["b"]![0] >= 1, JSON.stringify(batch));
  }
  // As MMLU's proxy: a few of each of 57 subjects, by their rows, rounded.
  const rows = Array.from({ length: 57 }, (_, i) => 100 + Math.round((i * 29 % 57) * 5.1));
  const all = rows.reduce((sum, one) => sum + one, 0);
  const subjects = rows.map((one, i) =>
    part(String.fromCharCode(65 + i), Math.max(1, Math.round(285 * one / all)), one, one / all)
  );
  const taken = drawOrder(subjects);
  assert.equal(taken.length, subjects.reduce((sum, { samples }) => sum + samples.length, 0));
});

Deno.test("what deciding would take is told by distance, changes and what exists", () => {
  assert.equal(expectedSamples(0.02, 0.1, 5000), 1300, "the median of 10,000 simulated studies");
  assert.equal(expectedSamples(0.08, 0.1, 5000), 150);
  assert.equal(expectedSamples(0, 0.1, 5000), 5000);
  assert.equal(expectedSamples(0, 0.1, Infinity), Infinity);
  assert.equal(expectedSamples(0.001, 0.1, 320), 320, "no more than exist");
});
