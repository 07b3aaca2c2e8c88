import { type Pair, pairedDifference, pairedInterval, Z95 } from "./statistics.ts";

/** The 80 % point of the normal distribution. */
const Z80 = 0.8416212335729143;

/** Pairs that must differ, and all the same way, before an exact sign test says 5 %: 2·0.5⁶. */
const FEWEST_THAT_DIFFER = 6;

/** The level of a test that shows a difference. */
const LEVEL = 0.05;

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
 * Pairs, those of now included, that would show the difference that these have. The deviation is
 * that of their interval, which few pairs that differ alike do not bring to 0; and never fewer than
 * an exact test needs where so many of them differ, nor than have just failed to show it.
 */
export function pairsToTellApart(pairs: readonly Pair[], p_value: number): number | null {
  const n = pairs.length;
  const difference = pairedDifference(pairs).mean;
  const byPower = samplesToTellApart(difference, pairedInterval(pairs)?.pair_deviation ?? 0);
  if (byPower === null) return null;
  const differing = pairs.filter(({ score, reference }) => score !== reference).length;
  const byTest = Math.ceil(FEWEST_THAT_DIFFER * n / differing);
  return Math.max(byPower, byTest, p_value > LEVEL ? n + 1 : 0);
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
