/** The mixture of four bets of the core's capital, sample by sample and on values of any bound. */
const DISTANCES = [0.01, 0.02, 0.04, 0.08];
const WEIGHTS = [0.15, 0.4, 0.3, 0.15];
const PRIOR = { samples: 25, square: 0.1 };
const LARGEST_STAKE = 0.9;

/**
 * What is already sure of "the population's mean is at most the limit", by the mean of what is left were the
 * limit the population's; null: nothing. All that is left may be -1, so that -1 itself rules nothing out.
 */
export function sureOf(mean: number): boolean | null {
  if (mean >= 1) return true;
  return mean < -1 - 1e-9 ? false : null;
}

/** Variance before the first sample. */
export const PRIOR_VARIANCE = PRIOR.square;

/** Variance of what was taken: so many values, their sum and their squares' sum. */
export function varianceOf(count: number, sum: number, squares: number): number {
  const seen = PRIOR.samples + count;
  return (PRIOR.samples * PRIOR.square + squares) / seen - (sum / seen) ** 2;
}

/** One side's capital: four bets on a mean. */
export function bettor(side: 1 | -1) {
  const logs = DISTANCES.map(() => 0);
  return {
    /** `z`: a value; `mean`: of what is left, were the limit the mean; `most`: the largest |z| there may be. */
    bet(z: number, mean: number, most: number, variance: number): void {
      for (const [j, distance] of DISTANCES.entries()) {
        const wanted = distance / (variance + distance ** 2);
        const stake = Math.min(wanted, LARGEST_STAKE / (most + side * mean));
        logs[j] = logs[j]! + Math.log1p(stake * side * (z - mean));
      }
    },
    log(): number {
      const top = Math.max(...logs);
      return top +
        Math.log(logs.reduce((sum, log, j) => sum + WEIGHTS[j]! * Math.exp(log - top), 0));
    },
  };
}
