import type { SampleResult } from "../schemas/measurement.ts";
import { type Drawn, effectiveSize, meanAndErrorOf, meanBy, sampleWeights } from "./strata.ts";

/** The 97.5 % point of the normal distribution: two-sided 95 %. */
export const Z95 = 1.959963984540054;

/** One sample seen by both: `reference` is the baseline's score. */
export interface Pair extends Drawn {
  readonly sample_hash: string;
  readonly reference: number;
  readonly score: number;
}

/** Scores of the same samples, joined by the hash of their content. */
export interface PairedScores {
  readonly pairs: readonly Pair[];
  /** Samples that only one side has; a comparison that finds any is of unequal sets. */
  readonly unmatched: number;
}

/** Joins two sets of results of one task; the order of the reference is kept. */
export function pairBySample(
  reference: readonly SampleResult[],
  results: readonly SampleResult[],
): PairedScores {
  const scores = new Map(results.map((result) => [result.sample_hash, result.score]));
  const pairs = reference.flatMap((sample) => {
    const score = scores.get(sample.sample_hash);
    return score === undefined ? [] : [{
      sample_hash: sample.sample_hash,
      reference: sample.score,
      score,
      stratum: sample.stratum,
      stratum_rows: sample.stratum_rows,
    }];
  });
  const seen = new Set(pairs.map((pair) => pair.sample_hash));
  const unmatched = reference.length - pairs.length +
    [...scores.keys()].filter((hash) => !seen.has(hash)).length;
  return { pairs, unmatched };
}

/** The mean of numbers; NaN where there are none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Score minus reference of each pair. */
export function differencesOf(pairs: readonly Pair[]): number[] {
  return pairs.map((pair) => pair.score - pair.reference);
}

/**
 * Score minus reference over the pairs: mean and its standard error (null below two pairs), those
 * of the benchmark where the pairs were drawn by strata.
 */
export function pairedDifference(
  pairs: readonly Pair[],
): { n: number; mean: number; standard_error: number | null } {
  return { n: pairs.length, ...meanAndErrorOf(differencesOf(pairs), pairs) };
}

/** A 95 % interval by its centre and half width, with the deviation of one pair behind it. */
export interface PairedInterval {
  readonly n: number;
  readonly centre: number;
  readonly half_width: number;
  readonly pair_deviation: number;
}

/**
 * 95 % interval of score minus reference. Right-or-wrong scores: Bonett and Price (2012), which
 * adds one pair of each disagreement, so that no disagreement among few samples is not taken for
 * certainty; drawn by strata, the same with as many pairs as their weights leave. Other scores: mean
 * and 1.96 standard errors, shares that all differ alike as right-or-wrong ones. Null below two
 * pairs.
 */
export function pairedInterval(pairs: readonly Pair[]): PairedInterval | null {
  if (pairs.length < 2) return null;
  const { n, mean: centre, standard_error } = pairedDifference(pairs);
  const error = standard_error ?? 0;
  if (areRightOrWrong(pairs) || (areShares(pairs) && error < 1e-12)) return withAddedPairs(pairs);
  return { n, centre, half_width: Z95 * error, pair_deviation: error * Math.sqrt(n) };
}

/** Bonett and Price's interval: differences of shares with one of +1 and one of -1 added. */
function withAddedPairs(pairs: readonly Pair[]): PairedInterval {
  const weights = sampleWeights(pairs);
  const counted = effectiveSize(weights);
  const added = (values: readonly number[], both: number) =>
    (counted * meanBy(values, weights) + both) / (counted + 2);
  const differences = differencesOf(pairs);
  const centre = added(differences, 0);
  const deviation = Math.sqrt(added(differences.map((d) => d ** 2), 2) - centre ** 2);
  return {
    n: pairs.length,
    centre,
    half_width: Z95 * deviation / Math.sqrt(counted + 2),
    pair_deviation: deviation * Math.sqrt(pairs.length / counted),
  };
}

/** Whether every score of both sides lies from 0 to 1. */
function areShares(pairs: readonly Pair[]): boolean {
  return pairs.every((pair) => [pair.score, pair.reference].every((x) => x >= 0 && x <= 1));
}

/** Whether every score of both sides is 0 or 1. */
export function areRightOrWrong(pairs: readonly Pair[]): boolean {
  return pairs.every((pair) => [pair.score, pair.reference].every((x) => x === 0 || x === 1));
}

/** Linear interpolation between order statistics, as NumPy does by default. */
export function quantile(sorted: readonly number[], q: number): number {
  const position = q * (sorted.length - 1);
  const low = Math.floor(position);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (position - low);
}

/** Wilson's 95 % interval of a share of n. */
export function wilsonInterval(share: number, n: number): [number, number] {
  const z2 = Z95 ** 2;
  const centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const half = Z95 / (1 + z2 / n) * Math.sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
