/** Samples between two looks. */
export const BATCH = 50;

/**
 * Share of samples whose score a compression changes, where none was seen: by what came of 4-bit
 * weights (deciding needs a guess before the first batch; the batches then replace it).
 */
export const FLIPS_UNSEEN = 0.1;

/** No claim is decided sooner: the bets begin small. */
const FEWEST = 150;

/**
 * Samples after which half of the studies would be decided, told before any is taken: about
 * 7·flips/distance², fewer of a small population, of which little is left unknown near its end. A fit
 * to simulated medians, within about 25 %. Infinity: no number of an endless population decides.
 *
 * distance: between the mean difference and the limit; flips: share of samples that change;
 * population: samples that exist, Infinity where nobody knows
 */
export function expectedSamples(distance: number, flips: number, population: number): number {
  if (Math.abs(distance) < 1e-12) return population;
  const endless = 7 * flips / distance ** 2;
  const finite = endless / (1 + endless / population);
  return Math.min(population, Math.max(FEWEST, Math.ceil(finite / BATCH) * BATCH));
}
