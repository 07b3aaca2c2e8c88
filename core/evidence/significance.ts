import { mean, type Pair } from "./statistics.ts";

/** log of the binomial coefficient, by sums of logarithms: exact enough for any benchmark. */
function logChoose(n: number, k: number): number {
  let total = 0;
  for (let i = 1; i <= k; i++) total += Math.log(n - k + i) - Math.log(i);
  return total;
}

/** P(X ≤ k) for n fair coins. */
function fairTail(n: number, k: number): number {
  let total = 0;
  for (let i = 0; i <= k; i++) total += Math.exp(logChoose(n, i) - n * Math.LN2);
  return total;
}

/**
 * Exact McNemar test of right-or-wrong scores: two-sided binomial over the pairs that disagree.
 * `gained` were wrong and are right now, `lost` the other way.
 */
export function mcnemarExact(
  pairs: readonly Pair[],
): { gained: number; lost: number; p_value: number } {
  const gained = pairs.filter((pair) => pair.score > pair.reference).length;
  const lost = pairs.filter((pair) => pair.score < pair.reference).length;
  const p = 2 * fairTail(gained + lost, Math.min(gained, lost));
  return { gained, lost, p_value: Math.min(1, p) };
}

/**
 * Two-sided sign-flip permutation test of the mean paired difference; the observed arrangement
 * counts as one, so the p-value is never 0.
 */
export function permutationTest(
  pairs: readonly Pair[],
  random: () => number,
  { permutations = 10000 }: { permutations?: number } = {},
): number {
  const differences = pairs.map((pair) => pair.score - pair.reference);
  const observed = Math.abs(mean(differences));
  let extreme = 1;
  for (let round = 0; round < permutations; round++) {
    let sum = 0;
    for (const difference of differences) sum += random() < 0.5 ? difference : -difference;
    if (Math.abs(sum / differences.length) >= observed - 1e-12) extreme++;
  }
  return extreme / (permutations + 1);
}

/** Holm's adjusted p-values, in the order given: the chance of any false claim stays at level. */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((_, i) => i).sort((i, j) => pValues[i]! - pValues[j]!);
  const adjusted = new Array<number>(pValues.length).fill(1);
  let largest = 0;
  order.forEach((index, rank) => {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * pValues[index]!));
    adjusted[index] = largest;
  });
  return adjusted;
}
