/**
 * Deciding by samples that are likely to change: those on which the original was unsure are drawn
 * more often, and each counts by the inverse of that. Valid whatever the guess of how often samples
 * change; a bad guess costs samples only.
 */
import { BATCH, LEVEL, seededRandom, shuffle } from "../../../core/mod.ts";
import { bettor, sureOf } from "./bettor.ts";
import { type Decided, studiesDecided } from "./simulate.ts";

/** Fifths of a benchmark by the original's margin, the least sure first: share that changes. */
export const FLIPS_BY_FIFTH = [0.3, 0.12, 0.05, 0.02, 0.01] as const;

/** Added to every guess of how often a fifth's samples change: none is taken for one that never does. */
const ALLOWANCE = 0.03;

/**
 * How often the samples of each fifth are drawn, by how often they are guessed to change: in proportion to
 * the root of that, which makes the variance the least (Neyman 1934).
 */
export function drawRates(flips: readonly number[]): number[] {
  return flips.map((share) => Math.sqrt(share + ALLOWANCE));
}

/** What each fifth holds: differences in an order that is drawn anew for every study. */
export type Fifths = readonly Int8Array[];

/** Share of a benchmark's samples that changes. */
export const FLIPS = FLIPS_BY_FIFTH.reduce((sum, share) => sum + share, 0) / FLIPS_BY_FIFTH.length;

/** A benchmark in which each fifth loses and gains in the proportion of the whole. */
export function fifthsOf(population: number, drop: number, flips = FLIPS): Int8Array[] {
  const size = population / FLIPS_BY_FIFTH.length;
  return FLIPS_BY_FIFTH.map((usual) => {
    const share = usual * flips / FLIPS;
    const lost = Math.round(size * share * (1 + drop / flips) / 2);
    const gained = Math.round(size * share * (1 - drop / flips) / 2);
    return new Int8Array(size).fill(1, 0, lost).fill(-1, lost, lost + gained);
  });
}

/** One study: the verdict with its samples. `rates`: how often a fifth's samples are drawn, beside each other. */
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
    const sure = sureOf(mean);
    if (sure !== null) return { met: sure, n: count };
    above.bet(z, mean, most);
    below.bet(z, mean, most);
    taken[part]!++;
    count++;
    sum += difference;
    squares += z ** 2;
    sumOfZ += z;
    if (count % BATCH !== 0) continue;
    for (const one of [above, below]) one.learn({ count, sum: sumOfZ, squares });
    if (above.log() >= Math.log(1 / LEVEL)) return { met: false, n: count };
    if (below.log() >= Math.log(1 / LEVEL)) return { met: true, n: count };
  }
  return { met: sum / population <= limit + 1e-12, n: count };
}

/** The same over many studies. Equal rates are the draws of every benchmark. */
export function simulateByMargin(
  fifths: Fifths,
  rates: readonly number[],
  limit: number,
  studies: number,
  seed: number,
): Decided {
  const random = seededRandom(seed);
  const population = fifths.reduce((sum, one) => sum + one.length, 0);
  const truth = fifths.flatMap((one) => [...one]).reduce((sum, d) => sum + d, 0) / population;
  return studiesDecided(studies, truth <= limit + 1e-12, () => {
    for (const one of fifths) shuffle(one, random);
    return decideByMargin(fifths, rates, limit, random);
  });
}
