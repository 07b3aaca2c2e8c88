import assert from "node:assert/strict";
import {
  holm,
  mcnemar,
  type Pair,
  pairBySample,
  pairedDifference,
  pairedInterval,
  permutationTest,
  quantile,
  type SampleResult,
  samplesToDecide,
  streamRandom,
} from "../../core/mod.ts";

function near(found: number, expected: number, tolerance = 1e-12): void {
  assert.ok(Math.abs(found - expected) <= tolerance, `${found} against ${expected}`);
}

function result(hash: string, score: number): SampleResult {
  return {
    task: "t",
    sample_id: hash,
    sample_hash: hash,
    prompt_hash: hash,
    score,
    answer: null,
    gold: null,
    log_likelihood: null,
  };
}

/** Pairs with these differences, around a reference that makes them right-or-wrong scores. */
function binary(differences: readonly number[]): Pair[] {
  return differences.map((d, i) => ({
    sample_hash: String(i),
    reference: d === 1 ? 0 : 1,
    score: d === -1 ? 0 : 1,
  }));
}

function disagreements(gained: number, lost: number, n: number): Pair[] {
  return binary(Array.from({ length: n }, (_, i) => i < gained ? 1 : i < gained + lost ? -1 : 0));
}

function real(differences: readonly number[]): Pair[] {
  return differences.map((d, i) => ({ sample_hash: String(i), reference: 2, score: 2 + d }));
}

const REAL = [.31, -.12, .05, .4, .22, -.3, .11, .27];

Deno.test("pairBySample() joins by content, not by position, and counts what has no partner", () => {
  const { pairs, unmatched } = pairBySample(
    [result("a", 1), result("b", 0), result("c", 1)],
    [result("d", 1), result("b", 1), result("a", 0)],
  );
  assert.deepEqual(pairs.map((p) => [p.sample_hash, p.reference, p.score]), [["a", 1, 0], [
    "b",
    0,
    1,
  ]]);
  assert.equal(unmatched, 2);
});

// numpy mean and scipy.stats.sem of the same twelve numbers.
Deno.test("pairedDifference() is the mean with the standard error of SciPy's sem", () => {
  const found = pairedDifference(binary([1, 0, -1, 0, 0, -1, -1, 0, 1, 0, -1, 0]));
  near(found.mean, -0.16666666666666666);
  near(found.standard_error!, 0.20719385350268707);
  assert.equal(pairedDifference(binary([1])).standard_error, null);
});

// (b+1)/(n+2) − (c+1)/(n+2) and z·√(…) by NumPy with scipy.stats.norm.ppf(0.975).
Deno.test("pairedInterval() of right-or-wrong scores is Bonett and Price's", () => {
  const found = pairedInterval(disagreements(6, 14, 200))!;
  near(found.centre, -0.0396039603960396);
  near(found.half_width, 0.04518123439611758);
});

Deno.test("pairedInterval() is not certain of 20 samples that never disagree", () => {
  const found = pairedInterval(disagreements(0, 0, 20))!;
  assert.equal(found.centre, 0);
  assert.ok(found.half_width > 0.1 && found.half_width < 0.15);
  assert.equal(pairedInterval(disagreements(0, 0, 1)), null);
});

Deno.test("pairedInterval() of other scores is mean and 1.96 standard errors", () => {
  const { mean, standard_error } = pairedDifference(real(REAL));
  const found = pairedInterval(real(REAL))!;
  near(found.centre, mean);
  near(found.half_width, 1.959963984540054 * standard_error!);
});

Deno.test("pairedInterval() is not certain of a few shares that all differ alike", () => {
  const shares = (n: number): Pair[] =>
    Array.from({ length: n }, (_, i) => ({ sample_hash: `${i}`, reference: 0.5, score: 0.4 }));
  const { centre, half_width } = pairedInterval(shares(3))!;
  assert.ok(centre - half_width < -0.3 && centre + half_width > 0.3);
  assert.ok(pairedInterval(shares(1000))!.half_width < 0.01);
});

// scipy.stats.binomtest(min(b, c), b + c, 0.5).pvalue
Deno.test("mcnemar() gives SciPy's two-sided binomial p-values", () => {
  near(mcnemar(disagreements(3, 9, 50)).p_value, 0.14599609375);
  near(mcnemar(disagreements(0, 6, 50)).p_value, 0.03125);
  near(mcnemar(disagreements(12, 12, 50)).p_value, 1);
  near(mcnemar(disagreements(40, 70, 200)).p_value, 0.005447429511444476);
  assert.deepEqual(mcnemar(disagreements(0, 0, 9)), {
    gained: 0,
    lost: 0,
    p_value: 1,
    mid_p_value: 1,
  });
});

// 17 pairs differ, so arrangements are drawn; scipy.stats.permutation_test over all 2^17 of them.
Deno.test("permutationTest() draws where there are too many arrangements, and never gives 0", () => {
  const differences = [...REAL, ...REAL, 0.5];
  const found = permutationTest(real(differences), streamRandom(1, "flip"));
  near(found, 0.030731201171875, 0.005);
  assert.equal(found, permutationTest(real(differences), streamRandom(1, "flip")));
  assert.equal(
    permutationTest(real(Array.from({ length: 40 }, () => 1)), streamRandom(1, "flip")),
    1 / 10001,
  );
});

// By hand: 3·0.01, 2·0.02 = 0.04, then 0.04 is not let fall below it; 4·0.005.
Deno.test("holm() steps down, never below an earlier one and never above 1", () => {
  const found = holm([0.01, 0.04, 0.005, 0.02]);
  [0.03, 0.04, 0.02, 0.04].forEach((expected, i) => near(found[i]!, expected));
  assert.deepEqual(holm([0.6, 0.7]), [1, 1]);
});

// By hand: (1.96·0.3/0.01)² = 3457.4…
Deno.test("samplesToDecide() says how many samples would, and null where none would", () => {
  assert.equal(samplesToDecide(0.01, 0.02, 0.3), 3458);
  assert.equal(samplesToDecide(0.02, 0.02, 0.3), null);
});

Deno.test("quantile() interpolates as NumPy does", () => {
  near(quantile([1, 2, 3, 4], 0.5), 2.5);
  near(quantile([1, 2, 3, 4], 0.1), 1.3);
});
