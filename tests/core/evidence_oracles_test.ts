// The golden values are SciPy's and statsmodels': oracles/statistics.py printed them, and the file
// names the versions.
import assert from "node:assert/strict";
import {
  holm,
  mcnemar,
  type Pair,
  pairedDifference,
  permutationTest,
  samplesToTellApart,
} from "../../core/mod.ts";
import golden from "./oracles/statistics.json" with { type: "json" };

/** Equal to 1e-9, relative where the value is above 1. */
function near(found: number, expected: number, what: string): void {
  const allowed = 1e-9 * Math.max(1, Math.abs(expected));
  assert.ok(Math.abs(found - expected) <= allowed, `${what}: ${found} against ${expected}`);
}

function pairs(differences: readonly number[]): Pair[] {
  return differences.map((d, i) => ({ sample_hash: String(i), reference: 0, score: d }));
}

const exact = () => {
  throw new Error("an exact test draws nothing");
};

Deno.test("mean and standard error are NumPy's mean and SciPy's sem", () => {
  for (const { name, scores, mean, sem } of golden.mean_and_error) {
    const found = pairedDifference(pairs(scores));
    near(found.mean, mean, name);
    near(found.standard_error!, sem, name);
  }
  assert.equal(pairedDifference(pairs([1])).standard_error, null);
});

Deno.test("mcnemar() gives statsmodels' exact p-value and SciPy's mid-p", () => {
  for (const { gained, lost, exact, mid } of golden.mcnemar) {
    const signs = [...Array(gained).fill(1), ...Array(lost).fill(-1), 0, 0, 0];
    const found = mcnemar(pairs(signs));
    near(found.p_value, exact, `exact ${gained} and ${lost}`);
    near(found.mid_p_value, mid, `mid-p ${gained} and ${lost}`);
    // Two p-values far below 1e-9 apart would pass the lines above whatever they are.
    assert.ok(Math.abs(found.p_value / exact - 1) < 1e-9, `${gained} and ${lost}, relative`);
  }
});

Deno.test("permutationTest() of few pairs is SciPy's over all sign flips", () => {
  for (const { differences, p_value } of golden.sign_flips) {
    near(permutationTest(pairs(differences), exact), p_value, differences.join(" "));
  }
});

Deno.test("holm() is statsmodels' multipletests", () => {
  for (const { p_values, adjusted } of golden.holm) {
    holm(p_values).forEach((found, i) => near(found, adjusted[i]!, p_values.join(" ")));
  }
});

Deno.test("samplesToTellApart() is statsmodels' sample size at 80 % power, rounded up", () => {
  for (const { difference, deviation, n } of golden.samples_to_tell_apart) {
    assert.equal(samplesToTellApart(difference, deviation), Math.ceil(n));
  }
  assert.equal(samplesToTellApart(0, 0.4), null);
});
