import type { SampleResult } from "../schemas/measurement.ts";

/** The 97.5 % point of the normal distribution: two-sided 95 %. */
export const Z95 = 1.959963984540054;

/** One sample seen by both: `reference` is the baseline's score. */
export interface Pair {
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
    return score === undefined
      ? []
      : [{ sample_hash: sample.sample_hash, reference: sample.score, score }];
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

/** Σ weight·value / Σ weight. */
export function weightedMean(parts: readonly { value: number; weight: number }[]): number {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return parts.reduce((sum, { value, weight }) => sum + weight * value, 0) / total;
}

/** Sample standard deviation over n − 1; null below two values. */
export function standardDeviation(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const centre = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}

/** Mean of numbers with the standard error of that mean; null below two values. */
export function meanAndError(
  values: readonly number[],
): { mean: number; standard_error: number | null } {
  const deviation = standardDeviation(values);
  return {
    mean: mean(values),
    standard_error: deviation === null ? null : deviation / Math.sqrt(values.length),
  };
}

/** Score minus reference over the pairs: mean and its standard error (null below two pairs). */
export function pairedDifference(
  pairs: readonly Pair[],
): { n: number; mean: number; standard_error: number | null } {
  return { n: pairs.length, ...meanAndError(pairs.map((pair) => pair.score - pair.reference)) };
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
 * certainty. Other scores: mean and 1.96 standard errors. Null below two pairs.
 */
export function pairedInterval(pairs: readonly Pair[]): PairedInterval | null {
  const n = pairs.length;
  if (n < 2) return null;
  if (areRightOrWrong(pairs)) {
    const gained = (pairs.filter((pair) => pair.score > pair.reference).length + 1) / (n + 2);
    const lost = (pairs.filter((pair) => pair.score < pair.reference).length + 1) / (n + 2);
    const deviation = Math.sqrt(gained + lost - (gained - lost) ** 2);
    return {
      n,
      centre: gained - lost,
      half_width: Z95 * deviation / Math.sqrt(n + 2),
      pair_deviation: deviation,
    };
  }
  const difference = pairedDifference(pairs);
  const error = difference.standard_error ?? 0;
  return {
    n,
    centre: difference.mean,
    half_width: Z95 * error,
    pair_deviation: error * Math.sqrt(n),
  };
}

/** Whether every score of both sides is 0 or 1. */
export function areRightOrWrong(pairs: readonly Pair[]): boolean {
  return pairs.every((pair) => [pair.score, pair.reference].every((x) => x === 0 || x === 1));
}

/** Percentile bootstrap of the mean paired difference; seeded by `random`. */
export function pairedBootstrap(
  pairs: readonly Pair[],
  random: () => number,
  { resamples = 2000, level = 0.95 }: { resamples?: number; level?: number } = {},
): [number, number] {
  const differences = pairs.map((pair) => pair.score - pair.reference);
  const n = differences.length;
  if (n === 0) throw new RangeError("Cannot resample differences as there are no pairs: n is 0");
  const means = Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[Math.floor(random() * n)]!;
    return sum / n;
  }).sort((a, b) => a - b);
  return [quantile(means, (1 - level) / 2), quantile(means, (1 + level) / 2)];
}

/** Linear interpolation between order statistics, as NumPy does by default. */
export function quantile(sorted: readonly number[], q: number): number {
  const position = q * (sorted.length - 1);
  const low = Math.floor(position);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (position - low);
}

/** The 80 % point of the normal distribution. */
const Z80 = 0.8416212335729143;

/**
 * How many pairs would show a difference of this size at a level of 5 % (two-sided) in 8 of 10
 * repetitions, by the normal approximation: ((z₀.₉₇₅ + z₀.₈)·deviation / difference)². Null where
 * the difference is 0, which no number of samples shows.
 */
export function samplesToTellApart(difference: number, pairDeviation: number): number | null {
  if (Math.abs(difference) < 1e-12) return null;
  return Math.ceil(((Z95 + Z80) * pairDeviation / difference) ** 2);
}

/**
 * How many samples would make a 95 % interval leave the threshold, if the estimate and the
 * deviation of a pair stay what they are; null where the estimate lies on the threshold, which no
 * number of samples decides.
 */
export function samplesToDecide(
  estimate: number,
  threshold: number,
  pairDeviation: number,
): number | null {
  const distance = Math.abs(estimate - threshold);
  if (distance < 1e-12) return null;
  return Math.ceil((Z95 * pairDeviation / distance) ** 2);
}
