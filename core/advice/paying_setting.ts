import { tAbove } from "../evidence/numerics/student_t.ts";
import type { ScoredCache, TimedCache } from "../schemas/caches/timed_cache.ts";
import { type CacheCost, cacheCrossing, timesCompared } from "./cache_crossing.ts";

/** A setting of a runtime that surely costs less than its first one, from some length of the prompt on. */
export interface PayingSetting {
  readonly setting: string;
  /** Tokens of a prompt from which on a cost is surely less. */
  readonly from: Readonly<Partial<Record<CacheCost, number>>>;
  /** What it scores beside the first one; empty: it was not scored. */
  readonly scores: readonly ScoredCache[];
  /** The benchmarks among them on which it surely scores less. */
  readonly loses: readonly string[];
}

/** As much of what was measured as says which settings pay. */
export interface MeasuredSettings {
  readonly caches: readonly TimedCache[];
  readonly scores?: readonly ScoredCache[] | undefined;
}

const COSTS: readonly CacheCost[] = ["bytes", "decode", "prefill"];
const LEVEL = 0.025;

/** Whether a difference lies below 0 in the interval that this one of so many asks for (Bonferroni). */
function surelyBelow(
  { difference, difference_standard_error: error, n }: ScoredCache,
  comparisons: number,
): boolean {
  if (difference === null || error === null || n < 2) return false;
  return difference + tAbove(LEVEL / comparisons, n - 1) * error < 0;
}

/**
 * Settings that pay, as they were measured on an artifact's weights: those whose cost is surely less, with
 * what they lose in quality. The order is the one in which they were asked for.
 */
export function payingSettings({ caches, scores = [] }: MeasuredSettings): PayingSetting[] {
  const compared = scores.filter(({ difference }) => difference !== null);
  return [...Map.groupBy(caches, ({ setting }) => setting)].flatMap(([setting, rows]) => {
    const from = Object.fromEntries(COSTS.flatMap((cost) => {
      const tokens = cacheCrossing(rows, cost, timesCompared(caches));
      return tokens === null ? [] : [[cost, tokens]];
    }));
    if (Object.keys(from).length === 0) return [];
    const own = compared.filter((row) => row.setting === setting);
    const loses = own.filter((row) => surelyBelow(row, compared.length)).map(({ task }) => task);
    return [{ setting, from, scores: own, loses }];
  });
}
