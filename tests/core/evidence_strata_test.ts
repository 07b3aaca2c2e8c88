// A benchmark of parts of unequal size, of which a sample takes equal shares.
import assert from "node:assert/strict";
import {
  type Drawn,
  effectiveSize,
  meanAndErrorOf,
  pairBySample,
  pairedDifference,
  pairedInterval,
  permutationTest,
  type SampleResult,
  sampleWeights,
  streamRandom,
} from "../../core/mod.ts";

function near(found: number | null, expected: number, tolerance = 1e-12): void {
  assert.ok(found !== null && Math.abs(found - expected) <= tolerance, `${found} not ${expected}`);
}

/** Items of strata of so many rows, `each` of every one. */
function drawn(rows: Record<string, number>, each: number): Drawn[] {
  return Object.entries(rows).flatMap(([stratum, stratum_rows]) =>
    Array.from({ length: each }, () => ({ stratum, stratum_rows }))
  );
}

const LAW_AND_ART = drawn({ law: 300, art: 100 }, 2);

Deno.test("sampleWeights() are the rows that a sample stands for, n together", () => {
  assert.deepEqual(sampleWeights(LAW_AND_ART), [1.5, 1.5, 0.5, 0.5]);
  assert.deepEqual(sampleWeights([{}, {}]), [1, 1]);
  assert.deepEqual(sampleWeights([]), []);
  near(effectiveSize([1.5, 1.5, 0.5, 0.5]), 3.2);
});

// By hand: 0.75·0.5 + 0.25·1; variances 0.5 and 0, so √(0.75²·0.5/2).
Deno.test("meanAndErrorOf() weighs strata by their rows, the error too", () => {
  const found = meanAndErrorOf([1, 0, 1, 1], LAW_AND_ART);
  near(found.mean, 0.625);
  near(found.standard_error, Math.sqrt(0.75 ** 2 * 0.5 / 2));
  const plain = meanAndErrorOf([1, 0, 1, 1], [{}, {}, {}, {}]);
  near(plain.mean, 0.75);
  near(plain.standard_error, 0.25);
});

Deno.test("a stratum of one sample takes the variance pooled over the others", () => {
  const items = [...drawn({ law: 300 }, 2), ...drawn({ art: 100 }, 1)];
  near(
    meanAndErrorOf([1, 0, 1], items).standard_error,
    Math.sqrt(0.75 ** 2 * 0.5 / 2 + 0.25 ** 2 * 0.5),
  );
  // Where every stratum has one, of all together: 1/3 for 1, 0, 0 and 1 of four.
  const ones = drawn({ a: 100, b: 100, c: 100, d: 100 }, 1);
  near(meanAndErrorOf([1, 0, 0, 1], ones).standard_error, Math.sqrt(4 * 0.0625 / 3));
  assert.equal(meanAndErrorOf([1], ones.slice(0, 1)).standard_error, null);
});

/** A population of three strata and the pairs of a stratified sample of it. */
const ROWS = { law: 1500, art: 100, physics: 400 };
const LOST = { law: 0.2, art: 0.02, physics: 0.1 };

function world(random: () => number): SampleResult[][] {
  const sides: SampleResult[][] = [[], []];
  for (const [stratum, stratum_rows] of Object.entries(ROWS)) {
    for (let i = 0; i < 60; i++) {
      const lost = random() < LOST[stratum as keyof typeof LOST];
      [1, lost ? 0 : 1].forEach((score, side) =>
        sides[side]!.push({
          task: "t",
          sample_id: "",
          sample_hash: `${stratum} ${i}`,
          prompt_hash: "",
          score,
          answer: null,
          gold: null,
          log_likelihood: null,
          stratum,
          stratum_rows,
        })
      );
    }
  }
  return sides;
}

Deno.test("the paired intervals of stratified samples hold the benchmark's own difference", () => {
  const truth = -(1500 * 0.2 + 100 * 0.02 + 400 * 0.1) / 2000;
  const plain = -(0.2 + 0.02 + 0.1) / 3; // of equal shares, which is another question
  const random = streamRandom(5, "strata");
  let held = 0;
  let mean = 0;
  const worlds = 300;
  for (let i = 0; i < worlds; i++) {
    const [reference, other] = world(random);
    const { pairs } = pairBySample(reference!, other!);
    const { centre, half_width } = pairedInterval(pairs)!;
    if (Math.abs(centre - truth) <= half_width) held++;
    mean += pairedDifference(pairs).mean / worlds;
  }
  near(mean, truth, 0.005);
  assert.ok(Math.abs(mean - plain) > 0.05);
  assert.ok(held >= 0.92 * worlds, `${held} of ${worlds}`);
});

Deno.test("permutationTest() flips weighted differences", () => {
  const pair = (score: number, stratum: string, stratum_rows: number, i: number) => ({
    sample_hash: String(i),
    reference: 0.5,
    score,
    stratum,
    stratum_rows,
  });
  // Weighted 1.5·(+1/2) twice and 0.5·(−1/2) twice: 4 of 16 arrangements reach as far: ±1, ±2.
  const pairs = [pair(1, "law", 300, 0), pair(1, "law", 300, 1), pair(0, "art", 100, 2)]
    .concat([pair(0, "art", 100, 3)]);
  // Sums: ±1.5 ± 0.25·{2, 0, 0, −2}; |sum| of 1 or more: both of law alike, 2·4 of 16.
  near(permutationTest(pairs, () => 0), 0.5);
});
