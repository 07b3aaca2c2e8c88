/**
 * Evidence by betting (Waudby-Smith and Ramdas 2024): a capital starts at 1 and bets, batch by batch,
 * that a mean difference lies beyond a candidate `m`. Were `m` the mean, it would not grow in
 * expectation, so by Ville's inequality it ever reaches 1/α with a probability of at most α: one may
 * look after every batch and stop by any rule. The bets are a mixture of four that are each best for
 * one distance between the mean and `m`.
 */
const DISTANCES = [0.01, 0.02, 0.04, 0.08] as const;
const WEIGHTS = [0.15, 0.4, 0.3, 0.15] as const;

/** Pseudo-samples with this mean square stand before the first batch. */
const PRIOR_SAMPLES = 25;
const PRIOR_SQUARE = 0.1;

/** A bet risks at most this share of the capital. */
export const LARGEST_STAKE = 0.9;

/** What is left of a population below this share is nothing: sums of shares are not exact. */
const NOTHING_LEFT = 1e-9;

/** Samples of one batch with one difference, baseline minus trial, from -1 to 1: positive is worse. */
export interface Draw {
  readonly difference: number;
  /** How many samples; more than 1 only where all samples of the sequence have one share. */
  readonly times: number;
  /** Share of one sample in the population's mean; 0 where the population is endless. */
  readonly share: number;
  /**
   * What a bet on it is multiplied by: what its part of the population holds of what is left of the mean,
   * over the part's share of the batch. 1 where the batch is in proportion.
   */
  readonly stake: number;
  /** What is bet on in place of the difference, with the same mean over what is left; absent: itself. */
  readonly value?: number;
}

/**
 * Batches in the order in which they were taken, each with samples of every part that still held something
 * of the mean. With stakes λ·r of part h, r = W_h / (n_h / B), a batch of B has Σ n_h λ r_h (μ_h - μ) = 0,
 * so that by the inequality of means the capital does not grow in expectation, whatever the parts' own
 * means are, and however many samples each gave. Derived; with r = 1 it is a batch without parts.
 */
export interface DrawnSequence {
  readonly batches: readonly (readonly Draw[])[];
  /** By batch, the least and the largest value that may be drawn for it; absent: -1 and 1. */
  readonly ranges?: readonly (readonly [least: number, largest: number])[];
}

/** 1: the mean is larger than the candidate. -1: it is smaller. */
export type Side = 1 | -1;

/** What has been taken so far; sums of differences with their stakes. */
interface Taken {
  count: number;
  sum: number;
  squares: number;
  /** Of the population's mean: share of what was taken, and its part of the mean. */
  share: number;
  part: number;
}

/** Mean of what is left, were the population's mean `m`, seen from a side. */
function meanLeft(m: number, side: Side, { share, part }: Taken): number {
  return side * (share === 0 ? m : (m - part) / (1 - share));
}

/**
 * The four bets on the next batch, before its stakes are cut: only what came before decides them, so many
 * values with their sum and their squares' sum.
 */
export function betsAfter(
  { count, sum, squares }: { count: number; sum: number; squares: number },
): number[] {
  const seen = PRIOR_SAMPLES + count;
  const variance = (PRIOR_SAMPLES * PRIOR_SQUARE + squares) / seen - (sum / seen) ** 2;
  return DISTANCES.map((distance) => distance / (variance + distance ** 2));
}

function take(
  taken: Taken,
  { difference, times, share, stake, value = difference }: Draw,
): void {
  taken.count += times;
  taken.sum += times * stake * value;
  taken.squares += times * (stake * value) ** 2;
  taken.share += times * share;
  taken.part += times * share * difference;
}

/** ln of the mixture, from the ln of each bet's own capital. */
export function mixedLog(logs: readonly number[]): number {
  const top = Math.max(...logs);
  return top + Math.log(logs.reduce((sum, log, j) => sum + WEIGHTS[j]! * Math.exp(log - top), 0));
}

/**
 * ln of the capital after each batch against a mean of `m`. Infinity: that mean is impossible, given
 * what was taken; -Infinity: what is left can never exceed it. Where nothing is left no bet is made.
 */
export function logCapitals(sequence: DrawnSequence, m: number, side: Side): number[] {
  const logs = DISTANCES.map(() => 0);
  const taken: Taken = { count: 0, sum: 0, squares: 0, share: 0, part: 0 };
  const path: number[] = [];
  let ended: number | null = null;
  for (const [i, batch] of sequence.batches.entries()) {
    if (1 - taken.share < NOTHING_LEFT) break;
    const mean = meanLeft(m, side, taken);
    ended ??= mean > 1 + NOTHING_LEFT ? -Infinity : mean < -1 - NOTHING_LEFT ? Infinity : null;
    if (ended === null) {
      const largest = Math.max(...batch.map(({ stake }) => stake));
      const [least, largest_value] = sequence.ranges?.[i] ?? [-1, 1];
      const worst = side === 1 ? -least : largest_value;
      const most = LARGEST_STAKE / largest / Math.max(worst + mean, NOTHING_LEFT);
      const bets = betsAfter(taken).map((bet) => Math.min(bet, most));
      for (const draw of batch) addDraw(logs, bets, side, mean, draw);
    }
    for (const draw of batch) take(taken, draw);
    path.push(ended ?? mixedLog(logs));
  }
  return path;
}

function addDraw(
  logs: number[],
  bets: readonly number[],
  side: Side,
  mean: number,
  { difference, times, stake, value = difference }: Draw,
): void {
  const gain = stake * (side * value - mean);
  for (let j = 0; j < logs.length; j++) {
    logs[j] = logs[j]! + times * Math.log1p(bets[j]! * gain);
  }
}

/** The mean of what was taken, each sample by its share; NaN where nothing was. */
export function meanTaken({ batches }: DrawnSequence): number {
  let [part, all] = [0, 0];
  for (const { difference, times, share } of batches.flat()) {
    const weight = times * (share === 0 ? 1 : share);
    part += weight * difference;
    all += weight;
  }
  return part / all;
}

/** Share of the population's mean that was taken; 0 of an endless one. */
export function shareTaken({ batches }: DrawnSequence): number {
  const share = batches.flat().reduce((sum, draw) => sum + draw.times * draw.share, 0);
  return 1 - share < NOTHING_LEFT ? 1 : share;
}

/** Samples taken up to a batch, itself included; absent: all. */
export function countTaken({ batches }: DrawnSequence, last = batches.length - 1): number {
  return batches.slice(0, last + 1).flat().reduce((sum, { times }) => sum + times, 0);
}
