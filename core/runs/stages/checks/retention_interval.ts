import { tAbove } from "../../../evidence/numerics/student_t.ts";
import { type Pair, pairedInterval, Z95 } from "../../../evidence/statistics.ts";
import { meanAndErrorOf } from "../../../evidence/strata.ts";

/** What of the reference's knowledge is left, with the pairs that say so. */
export interface PairedRetention {
  readonly n: number;
  readonly reference: number;
  readonly score: number;
  readonly chance: number;
  /** (score − chance) / (reference − chance); null: it is not defined. */
  readonly value: number | null;
  readonly interval: readonly [number, number] | null;
  /** Why there is no value or no interval; null: there are both. */
  readonly undefined_because: string | null;
}

/** As many degrees of freedom as make Student's t a normal. */
const NORMAL = 1e9;

/**
 * By how much a 95 % interval is widened so that those of so many looks at one growing sample hold
 * together with at least 95 % (Bonferroni): 1 for one look, 1.27 for four.
 */
export function widening(looks: number): number {
  return looks <= 1 ? 1 : tAbove(0.025 / looks, NORMAL) / Z95;
}

function without(
  why: string,
  about: Omit<PairedRetention, "value" | "interval" | "undefined_because">,
) {
  return { ...about, value: null, interval: null, undefined_because: why };
}

/**
 * Retention above chance with Fieller's interval: all R for which score − reference + (1 − R)(reference
 * − chance) may be 0. The paired difference has the interval of `pairedInterval`; that of the reference
 * is added as if the two varied apart, which is wider where a model loses what it knew. The set has two
 * ends only where the reference is surely above chance.
 */
export function pairedRetention(
  pairs: readonly Pair[],
  chance: number,
  looks = 1,
): PairedRetention {
  const known = meanAndErrorOf(pairs.map(({ reference }) => reference), pairs);
  const score = meanAndErrorOf(pairs.map((pair) => pair.score), pairs).mean;
  const about = { n: pairs.length, reference: known.mean, score, chance };
  const difference = pairedInterval(pairs);
  if (difference === null || known.standard_error === null) {
    return without("there are fewer than two samples of both", about);
  }
  const wide = widening(looks);
  const above = known.mean - chance;
  // Samples that all score alike have no spread to tell by: as if one more had scored otherwise.
  const spread = Math.max(known.standard_error, 1 / (pairs.length + 1) / Math.sqrt(pairs.length));
  const [moved, held] = [difference.half_width * wide, Z95 * spread * wide];
  if (above <= held) {
    return without("the reference is not surely above guessing: nothing was known to lose", about);
  }
  // (D + u·A)² = h² + u²·k² for u = 1 − R.
  const a = above ** 2 - held ** 2;
  const b = difference.centre * above;
  const c = difference.centre ** 2 - moved ** 2;
  const root = Math.sqrt(Math.max(0, b ** 2 - a * c));
  const value = (score - chance) / above;
  const ends: [number, number] = [1 - (-b + root) / a, 1 - (-b - root) / a];
  // The interval's centre is drawn to no loss by the pairs that it adds; the value itself is in it.
  const interval: [number, number] = [Math.min(ends[0], value), Math.max(ends[1], value)];
  return { ...about, value, interval, undefined_because: null };
}

/** The mean of several retentions, their errors apart; null where none is defined. */
export function meanRetention(
  parts: readonly PairedRetention[],
): { value: number; interval: [number, number]; n: number } | null {
  const known = parts.flatMap(({ value, interval, n }) =>
    value === null || interval === null ? [] : [{ value, interval, n }]
  );
  if (known.length === 0) return null;
  const value = known.reduce((sum, part) => sum + part.value, 0) / known.length;
  const end = (side: 0 | 1) =>
    Math.hypot(...known.map((part) => part.interval[side] - part.value)) / known.length;
  return {
    value,
    interval: [value - end(0), value + end(1)],
    n: known.reduce((sum, part) => sum + part.n, 0),
  };
}
