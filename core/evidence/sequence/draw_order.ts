import { streamRandom } from "../../random.ts";

/** Samples of a part of the benchmark (a task, or one subject of it) that count alike. */
export interface BenchmarkPart<S> {
  /** Taken in this order: one that a seed has drawn. */
  readonly samples: readonly S[];
  /** How many exist, those that are never taken included; null, in all parts: endless. */
  readonly existing: number | null;
  /** Share of the whole part in the mean; all parts together 1. */
  readonly share: number;
}

/** A sample in its place, with its own share of the mean; 0 where samples are endless. */
export interface Placed<S> {
  readonly sample: S;
  readonly share: number;
}

/**
 * The order in which samples of several parts are taken: each is drawn from a part with a
 * probability in proportion to what the part still holds of the mean. It ends where a part is drawn
 * of which more exist than are at hand: beyond, the draws would no longer be in proportion.
 */
export function drawOrder<S>(parts: readonly BenchmarkPart<S>[], seed: number): Placed<S>[] {
  const random = streamRandom(seed, "order of samples");
  const own = parts.map(({ share, existing }) => existing === null ? 0 : share / existing);
  const taken = parts.map(() => 0);
  const order: Placed<S>[] = [];
  for (;;) {
    const left = parts.map(({ share, existing }, i) =>
      existing === null ? share : own[i]! * (existing - taken[i]!)
    );
    const all = left.reduce((sum, share) => sum + share, 0);
    let point = random() * all;
    let part = left.findIndex((share) => (point -= share) < 0);
    if (part < 0) part = left.findLastIndex((share) => share > 0);
    const sample = parts[part]?.samples[taken[part]!];
    if (sample === undefined) return order;
    order.push({ sample, share: own[part]! });
    taken[part]!++;
  }
}
