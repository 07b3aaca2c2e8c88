/** The mixture of four bets of the core's capital, sample by sample and on values of any bound. */
import { betsAfter, LARGEST_STAKE, mixedLog } from "../../../core/mod.ts";

/**
 * What is already sure of "the population's mean is at most the limit", by the mean of what is left were the
 * limit the population's; null: nothing. All that is left may be -1, so that -1 itself rules nothing out.
 */
export function sureOf(mean: number): boolean | null {
  if (mean >= 1) return true;
  return mean < -1 - 1e-9 ? false : null;
}

/** One side's capital. */
export function bettor(side: 1 | -1) {
  let bets = betsAfter({ count: 0, sum: 0, squares: 0 });
  const logs = bets.map(() => 0);
  return {
    /** `z`: a value; `mean`: of what is left, were the limit the mean; `most`: the largest |z| there may be. */
    bet(z: number, mean: number, most: number): void {
      const stake = LARGEST_STAKE / (most + side * mean);
      for (const [j, wanted] of bets.entries()) {
        logs[j] = logs[j]! + Math.log1p(Math.min(wanted, stake) * side * (z - mean));
      }
    },
    /** After a batch: the next one's bets, by what was taken until then. */
    learn(taken: Parameters<typeof betsAfter>[0]): void {
      bets = betsAfter(taken);
    },
    log: () => mixedLog(logs),
  };
}
