/**
 * Deciding by samples that are likely to change: those on which the original was unsure are drawn
 * more often, and each counts by the inverse of that. Valid whatever the guess of how often samples
 * change; a bad guess costs samples only.
 */
import { BATCH, LEVEL, seededRandom } from "../../../core/mod.ts";
import type { Decided } from "./simulate.ts";

/** Fifths of a benchmark by the original's margin, the least sure first: share that changes. */
export const FLIPS_BY_FIFTH = [0.3, 0.12, 0.05, 0.02, 0.01] as const;

/** What is guessed of it: too much everywhere. */
export const GUESSED = FLIPS_BY_FIFTH.map((share) => share + 0.03);

const DISTANCES = [0.01, 0.02, 0.04, 0.08];
const WEIGHTS = [0.15, 0.4, 0.3, 0.15];
const PRIOR = { samples: 25, square: 0.1 };
const LARGEST_STAKE = 0.9;

/** What each fifth holds: differences in an order that is drawn anew for every study. */
type Fifths = readonly Int8Array[];

/** A benchmark in which each fifth loses and gains in the proportion of the whole. */
export function fifthsOf(population: number, drop: number): Int8Array[] {
  const flips = FLIPS_BY_FIFTH.reduce((sum, share) => sum + share, 0) / FLIPS_BY_FIFTH.length;
  const size = population / FLIPS_BY_FIFTH.length;
  return FLIPS_BY_FIFTH.map((share) => {
    const lost = Math.round(size * share * (1 + drop / flips) / 2);
    const gained = Math.round(size * share * (1 - drop / flips) / 2);
    return new Int8Array(size).fill(1, 0, lost).fill(-1, lost, lost + gained);
  });
}

function shuffle(values: Int8Array, random: () => number): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
}

/** One side's capital: four bets on a mean of `limit`. */
function bettor(side: 1 | -1) {
  const logs = DISTANCES.map(() => 0);
  return {
    /** `z`: a difference, weighed; `mean`: of what is left; `most`: the largest |z| there may be. */
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

/** One study: the verdict with its samples. `rates`: how often a fifth's samples are guessed to change. */
export function decideByMargin(
  fifths: Fifths,
  rates: readonly number[],
  limit: number,
  random: () => number,
): { met: boolean; n: number } {
  const population = fifths.reduce((sum, one) => sum + one.length, 0);
  const taken = fifths.map(() => 0);
  const [above, below] = [bettor(1), bettor(-1)];
  let [sum, count, squares, sumOfZ] = [0, 0, 0, 0];
  let variance = PRIOR.square;
  while (count < population) {
    const left = fifths.map((one, i) => one.length - taken[i]!);
    const weight = left.map((n, i) => n * rates[i]!);
    const all = weight.reduce((total, one) => total + one, 0);
    let point = random() * all;
    let part = weight.findIndex((one) => (point -= one) < 0);
    if (part < 0) part = weight.findLastIndex((one) => one > 0);
    const share = (population - count) / population;
    const inverse = (i: number) => all / (population * rates[i]! * share);
    const difference = fifths[part]![taken[part]!]!;
    const z = difference * inverse(part);
    const most = Math.max(...left.map((n, i) => n > 0 ? inverse(i) : 0));
    const mean = (limit - sum / population) / share;
    // What is left cannot bring the mean to the limit, or cannot bring it away from there.
    if (mean >= 1) return { met: true, n: count };
    if (mean <= -1) return { met: false, n: count };
    above.bet(z, mean, most, variance);
    below.bet(z, mean, most, variance);
    taken[part]!++;
    count++;
    sum += difference;
    squares += z ** 2;
    sumOfZ += z;
    if (count % BATCH !== 0) continue;
    const seen = PRIOR.samples + count;
    variance = (PRIOR.samples * PRIOR.square + squares) / seen - (sumOfZ / seen) ** 2;
    if (above.log() >= Math.log(1 / LEVEL)) return { met: false, n: count };
    if (below.log() >= Math.log(1 / LEVEL)) return { met: true, n: count };
  }
  return { met: sum / population <= limit + 1e-12, n: count };
}

/** The same over many studies. Equal rates are the draws of every benchmark. */
export function simulateByMargin(
  { population, drop }: { population: number; drop: number },
  rates: readonly number[],
  limit: number,
  studies: number,
  seed: number,
): Decided {
  const random = seededRandom(seed);
  const fifths = fifthsOf(population, drop);
  const truth = fifths.flatMap((one) => [...one]).reduce((sum, d) => sum + d, 0) / population;
  const taken: number[] = [];
  let wrong = 0;
  for (let study = 0; study < studies; study++) {
    for (const one of fifths) shuffle(one, random);
    const { met, n } = decideByMargin(fifths, rates, limit, random);
    taken.push(n);
    wrong += met === (truth <= limit + 1e-12) ? 0 : 1;
  }
  taken.sort((a, b) => a - b);
  return {
    wrong: wrong / studies,
    decided: 1,
    median: taken[Math.floor(studies / 2)]!,
    most: taken[Math.floor(0.9 * studies)]!,
  };
}
