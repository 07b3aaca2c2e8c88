/**
 * Simulated studies that decide whether a drop is within its limit: a benchmark with a known share of
 * lost and gained answers, its samples drawn without replacement, one look after every batch.
 */
import {
  BATCH,
  type Draw,
  type DrawnSequence,
  judgeSequence,
  LEVEL,
  seededRandom,
  shuffle,
  Z95,
} from "../../../core/mod.ts";

/** A benchmark on which a compression changes some answers. */
export interface Setting {
  /** Samples that exist. */
  readonly population: number;
  /** Share of samples whose score changes. */
  readonly flips: number;
  /** Mean of baseline minus trial: what is asked about. */
  readonly drop: number;
}

/** What one way of deciding did over many studies. */
export interface Decided {
  /** Shares of the studies. */
  readonly wrong: number;
  readonly decided: number;
  /** Samples until the verdict, or all: the median and the 90 % point. */
  readonly median: number;
  readonly most: number;
}

/** A way of deciding: the verdict with the samples that it took; null: it stays open. */
export type Decider = (differences: Int8Array) => { met: boolean; n: number } | null;

/** Differences of all samples of a benchmark: exactly so many 1 and -1. */
export function benchmarkOf({ population, flips, drop }: Setting): Int8Array {
  const lost = Math.round(population * (flips + drop) / 2);
  const gained = Math.round(population * (flips - drop) / 2);
  return new Int8Array(population).fill(1, 0, lost).fill(-1, lost, lost + gained);
}

function batchesOf(differences: Int8Array, count: number): DrawnSequence {
  const share = 1 / differences.length;
  const batches: Draw[][] = [];
  for (let start = 0; start < count; start += BATCH) {
    const own = differences.subarray(start, Math.min(start + BATCH, count));
    batches.push([1, 0, -1].flatMap((difference) => {
      const times = own.reduce((sum, d) => sum + (d === difference ? 1 : 0), 0);
      return times === 0 ? [] : [{ difference, times, share, stake: 1 }];
    }));
  }
  return { batches };
}

/** By the sequence: its looks in growing blocks, so that what is decided early costs little. */
export function bySequence(limit: number): Decider {
  return (differences) => {
    for (let count = 8 * BATCH;; count *= 2) {
      const taken = Math.min(count, differences.length);
      const { verdict, n } = judgeSequence(batchesOf(differences, taken), limit);
      if (verdict !== "undecided") return { met: verdict === "met", n };
      if (taken === differences.length) return null;
    }
  };
}

/** By Bonett and Price's 95 % interval of a fixed number, looked at after every batch all the same. */
export function byFixedInterval(limit: number): Decider {
  return (differences) => {
    let [sum, squares] = [0, 0];
    for (let i = 0; i < differences.length; i++) {
      sum += differences[i]!;
      squares += differences[i]! ** 2;
      const n = i + 1;
      if (n % BATCH !== 0 && n !== differences.length) continue;
      const centre = sum / (n + 2);
      const half = Z95 * Math.sqrt(((squares + 2) / (n + 2) - centre ** 2) / (n + 2));
      if (centre + half <= limit) return { met: true, n };
      if (centre - half > limit) return { met: false, n };
    }
    return null;
  };
}

/** The 95 % and the 90 % point of the normal distribution: error on either side, and power. */
const Z_ERROR = 1.6448536269514722;
const Z_POWER = 1.2815515655446004;

/**
 * Samples of a test of fixed size that resolves a distance with an error of 5 % in 9 of 10 studies:
 * (1.645 + 1.282)²·(flips - drop²)/distance², less what a finite population tells. One does not know
 * the drop before, so the distance is the smallest that one wants to resolve.
 */
export function fixedSize({ population, flips, drop }: Setting, distance: number): number {
  const endless = (Z_ERROR + Z_POWER) ** 2 * (flips - drop ** 2) / distance ** 2;
  return Math.min(population, Math.ceil(endless / (1 + endless / population)));
}

/** The ways of deciding over one and the same studies, by name. */
export function simulate(
  setting: Setting,
  limit: number,
  studies: number,
  seed: number,
  deciders: Readonly<Record<string, Decider>>,
): Record<string, Decided> {
  return simulateDifferences(benchmarkOf(setting), limit, studies, seed, deciders);
}

/** The same of a benchmark whose differences are known; their order is changed in place. */
export function simulateDifferences(
  differences: Int8Array,
  limit: number,
  studies: number,
  seed: number,
  deciders: Readonly<Record<string, Decider>>,
): Record<string, Decided> {
  const random = seededRandom(seed);
  const truth = differences.reduce((sum, d) => sum + d, 0) / differences.length;
  const within = truth <= limit + 1e-12;
  const counts = Object.keys(deciders).map(() => tally(within));
  for (let study = 0; study < studies; study++) {
    shuffle(differences, random);
    for (const [i, decide] of Object.values(deciders).entries()) {
      counts[i]!.add(decide(differences), differences.length);
    }
  }
  return Object.fromEntries(Object.keys(deciders).map((name, i) => [name, counts[i]!.decided()]));
}

/** One way of deciding over so many studies, each of which ends with a verdict. */
export function studiesDecided(
  studies: number,
  within: boolean,
  decide: () => { met: boolean; n: number },
): Decided {
  const count = tally(within);
  for (let study = 0; study < studies; study++) count.add(decide(), 0);
  return count.decided();
}

/** Counts verdicts of studies. `within`: whether the drop really is within the limit. */
function tally(within: boolean) {
  const taken: number[] = [];
  let [wrong, decided] = [0, 0];
  return {
    /** `all`: the samples that were taken where it stays open. */
    add(verdict: { met: boolean; n: number } | null, all: number): void {
      taken.push(verdict?.n ?? all);
      decided += verdict === null ? 0 : 1;
      wrong += verdict !== null && verdict.met !== within ? 1 : 0;
    },
    decided(): Decided {
      taken.sort((a, b) => a - b);
      const studies = taken.length;
      return {
        wrong: wrong / studies,
        decided: decided / studies,
        median: taken[Math.floor(studies / 2)]!,
        most: taken[Math.floor(0.9 * studies)]!,
      };
    },
  };
}

/** The true drops at which coverage is shown: on both sides of the limit of 0.02, and on it. */
export const DROPS = [0, 0.01, 0.02, 0.03, 0.05, 0.1] as const;

export const LIMIT = 0.02;

/** What no way of deciding may exceed. */
export const MOST_WRONG = LEVEL;
