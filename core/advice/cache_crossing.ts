import { t975, tAbove } from "../evidence/numerics/student_t.ts";
import { type TimedCache, TURN_TOKENS } from "../schemas/caches/timed_cache.ts";

/** What a setting of a cache is held against the full one by. */
export type CacheCost = "prefill" | "decode" | "bytes";

/** Its share of the full cache's cost, with the 95 % interval; bytes are counted and have none. */
export function costShare(
  row: TimedCache,
  cost: CacheCost,
): { value: number; low: number; high: number } {
  if (cost === "bytes") {
    const value = row.kept_bytes / row.full_kept_bytes;
    return { value, low: value, high: value };
  }
  const [value, low, high] = cost === "prefill"
    ? [row.prefill_ratio, row.prefill_ratio_low, row.prefill_ratio_high]
    : [row.decode_ratio, row.decode_ratio_low, row.decode_ratio_high];
  return { value, low: low ?? 0, high: high ?? Infinity };
}

/** Degrees of freedom of a ratio's interval: of its pairs without a fifth at each end, as measuring/timing.py. */
function freedom({ passes, new_tokens }: TimedCache, cost: "prefill" | "decode"): number {
  const pairs = cost === "prefill" ? passes : passes * Math.round(new_tokens / TURN_TOKENS);
  return pairs - 2 * Math.floor(pairs / 5) - 1;
}

/** Whether a setting costs less in the interval that this one of so many comparisons asks for (Bonferroni). */
function surelyLess(row: TimedCache, cost: CacheCost, comparisons: number): boolean {
  const { value, high } = costShare(row, cost);
  if (cost === "bytes" || !Number.isFinite(high)) return high < 1;
  const free = freedom(row, cost);
  const wider = tAbove(0.025 / comparisons, free) / t975(free);
  return value * (high / value) ** wider < 1;
}

/** Ratios of times in a table: two of each setting. */
export function timesCompared(rows: readonly TimedCache[]): number {
  return 2 * new Set(rows.map(({ setting }) => setting)).size;
}

/**
 * The crossing point: the least measured length of the prompt from which on a setting surely costs less than the
 * full cache, at it and at every longer one. Null: at the longest it does not.
 *
 * comparisons: of which 95 % are to hold together. Lengths are none of them: they are gone through from the
 * longest on, and the first that does not hold ends it (Maurer, Hothorn and Lehmacher 1995).
 */
export function cacheCrossing(
  rows: readonly TimedCache[],
  cost: CacheCost,
  comparisons: number,
): number | null {
  const longest_first = rows.toSorted((a, b) => b.context_tokens - a.context_tokens);
  const not = longest_first.findIndex((row) => !surelyLess(row, cost, comparisons));
  const less = not === -1 ? longest_first : longest_first.slice(0, not);
  return less.at(-1)?.context_tokens ?? null;
}
