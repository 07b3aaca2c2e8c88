import { twoSided } from "./numerics/student_t.ts";
import { differencesOf, mean, type Pair } from "./statistics.ts";
import { sampleWeights } from "./strata.ts";

/** P(X ≤ k) and P(X = k) for n fair coins, each term from the one before it, in logarithms. */
function fairTail(n: number, k: number): { tail: number; last: number } {
  let logTerm = -n * Math.LN2;
  let tail = Math.exp(logTerm);
  for (let i = 1; i <= k; i++) {
    logTerm += Math.log((n - i + 1) / i);
    tail += Math.exp(logTerm);
  }
  return { tail, last: Math.exp(logTerm) };
}

/** McNemar's test of right-or-wrong scores; `gained` were wrong and are right now. */
export interface McNemar {
  readonly gained: number;
  readonly lost: number;
  /** Exact: never too small, and too large where few samples disagree. */
  readonly p_value: number;
  /** Mid-p (Fagerland, Lydersen and Laake 2013): half of the observed outcome's probability less. */
  readonly mid_p_value: number;
}

/** Two-sided binomial test over the pairs that disagree. */
export function mcnemar(pairs: readonly Pair[]): McNemar {
  const gained = pairs.filter((pair) => pair.score > pair.reference).length;
  const lost = pairs.filter((pair) => pair.score < pair.reference).length;
  const { tail, last } = fairTail(gained + lost, Math.min(gained, lost));
  return {
    gained,
    lost,
    p_value: Math.min(1, 2 * tail),
    mid_p_value: Math.min(1, 2 * tail - last),
  };
}

/** Pairs that differ up to which every arrangement of signs is tried. */
const EXACT_PAIRS = 16;

/**
 * Two-sided sign-flip permutation test of the mean paired difference, in which pairs that were drawn
 * by strata keep their weights. Exact over all 2^k signs
 * where at most 16 pairs differ; beyond, `permutations` draws from `random`, of which the observed
 * arrangement counts as one, so that the p-value is never 0.
 */
export function permutationTest(
  pairs: readonly Pair[],
  random: () => number,
  { permutations = 10000 }: { permutations?: number } = {},
): number {
  const weights = sampleWeights(pairs);
  const differences = differencesOf(pairs).map((d, i) => weights[i]! * d).filter((d) => d !== 0);
  const observed = Math.abs(differences.reduce((sum, d) => sum + d, 0));
  const reaches = (sum: number) => Math.abs(sum) >= observed * (1 - 1e-12);
  if (differences.length <= EXACT_PAIRS) {
    const arrangements = 2 ** differences.length;
    let extreme = 0;
    for (let signs = 0; signs < arrangements; signs++) {
      if (reaches(signedSum(differences, (i) => (signs & (1 << i)) !== 0))) extreme++;
    }
    return extreme / arrangements;
  }
  let extreme = 1;
  for (let round = 0; round < permutations; round++) {
    if (reaches(signedSum(differences, () => random() < 0.5))) extreme++;
  }
  return extreme / (permutations + 1);
}

function signedSum(values: readonly number[], flipped: (i: number) => boolean): number {
  return values.reduce((sum, value, i) => sum + (flipped(i) ? -value : value), 0);
}

/**
 * Paired t-test of the mean difference, two-sided, as papers give it; null below two pairs. Pairs that all
 * differ alike are certain: 0, or 1 where none differs.
 */
export function pairedT(pairs: readonly Pair[]): number | null {
  if (pairs.length < 2) return null;
  const differences = differencesOf(pairs);
  const centre = mean(differences);
  const squares = differences.reduce((sum, one) => sum + (one - centre) ** 2, 0);
  const error = Math.sqrt(squares / (pairs.length - 1) / pairs.length);
  if (error === 0) return centre === 0 ? 1 : 0;
  return twoSided(centre / error, pairs.length - 1);
}

/**
 * Paired bootstrap of the mean difference, two-sided: how often means of resampled differences, moved to a
 * mean of 0, are as far from 0 as the one observed (Efron and Tibshirani 1993, 16.4). What was observed
 * counts as one, so that it is never 0; null below two pairs.
 */
export function pairedBootstrap(
  pairs: readonly Pair[],
  random: () => number,
  { resamples = 10_000 }: { resamples?: number } = {},
): number | null {
  if (pairs.length < 2) return null;
  const differences = differencesOf(pairs);
  const observed = mean(differences);
  const n = differences.length;
  let extreme = 1;
  for (let round = 0; round < resamples; round++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[Math.floor(random() * n)]!;
    if (Math.abs(sum / n - observed) >= Math.abs(observed) * (1 - 1e-12)) extreme++;
  }
  return extreme / (resamples + 1);
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
