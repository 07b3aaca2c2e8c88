import { BATCH } from "./expected_samples.ts";

/** Samples of a part of the benchmark (a task, or one subject of it) that count alike. */
export interface BenchmarkPart<S> {
  /** Taken in this order: one that a seed has drawn. */
  readonly samples: readonly S[];
  /** How many exist, those that are never taken included; null, in all parts: endless. */
  readonly existing: number | null;
  /** Share of the whole part in the mean; all parts together 1. */
  readonly share: number;
}

/** A sample in its place. */
export interface Placed<S> {
  readonly sample: S;
  /** Its own share of the mean; 0 where samples are endless. */
  readonly share: number;
  /** Number of the batch in which it is taken, from 0. */
  readonly batch: number;
  /**
   * What a bet on it is multiplied by: what its part still holds of the mean, over the part's share of the
   * batch. 1 where the batch is in proportion.
   */
  readonly stake: number;
}

/** A part on the way: how much of it was taken. */
interface Left<S> {
  readonly part: BenchmarkPart<S>;
  readonly own: number;
  taken: number;
}

const atHand = <S>({ part, taken }: Left<S>) => part.samples.length - taken;

/** What a part still holds of the mean. */
function weightOf<S>({ part: { share, existing }, own, taken }: Left<S>): number {
  return existing === null ? share : own * (existing - taken);
}

/** How many samples of each part the next batch takes: in proportion, and each part in every batch. */
function nextCounts<S>(open: readonly Left<S>[]): number[] {
  const total = open.reduce((sum, one) => sum + atHand(one), 0);
  const usual = Math.ceil(total / BATCH);
  const batches = Math.min(usual, ...open.map(atHand));
  if (batches === 1) return open.map(atHand);
  const size = batches < usual ? Math.ceil(total / batches) : BATCH;
  const all = open.reduce((sum, one) => sum + weightOf(one), 0);
  // A part must last for the batches that follow, or for what is left of it.
  return open.map((one) => {
    const most = one.part.existing === one.part.samples.length
      ? atHand(one)
      : atHand(one) - (batches - 1);
    return Math.max(1, Math.min(most, Math.round(size * weightOf(one) / all)));
  });
}

/**
 * The batches in which samples of several parts are taken. Each batch has samples of every part that
 * still holds something of the mean, in proportion to that as far as whole samples and what is at hand
 * allow; what they do not allow, the stakes make up for. It ends where a part of which more exist has no
 * sample left at hand.
 */
export function drawOrder<S>(parts: readonly BenchmarkPart<S>[]): Placed<S>[] {
  const all = parts.map((part): Left<S> => ({
    part,
    own: part.existing === null ? 0 : part.share / part.existing,
    taken: 0,
  }));
  const order: Placed<S>[] = [];
  for (let batch = 0;; batch++) {
    const open = all.filter(({ part, taken }) => part.existing === null || taken < part.existing);
    if (open.length === 0 || open.some((one) => atHand(one) === 0)) return order;
    const counts = nextCounts(open);
    const size = counts.reduce((sum, count) => sum + count, 0);
    const weights = open.map(weightOf);
    const held = weights.reduce((sum, weight) => sum + weight, 0);
    open.forEach((one, h) => {
      const stake = weights[h]! / held * size / counts[h]!;
      const share = one.own;
      const taken = one.part.samples.slice(one.taken, one.taken + counts[h]!);
      order.push(...taken.map((sample) => ({ sample, share, batch, stake })));
    });
    open.forEach((one, h) => one.taken += counts[h]!);
  }
}
