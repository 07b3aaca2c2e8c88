import type { TimedCache } from "../schemas/caches/timed_cache.ts";

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

/**
 * The crossing point: the least measured length of the prompt from which on a setting surely costs less than the
 * full cache, at it and at every longer one. Null: at the longest it does not.
 */
export function cacheCrossing(rows: readonly TimedCache[], cost: CacheCost): number | null {
  const longest_first = rows.toSorted((a, b) => b.context_tokens - a.context_tokens);
  const not = longest_first.findIndex((row) => costShare(row, cost).high >= 1);
  const less = not === -1 ? longest_first : longest_first.slice(0, not);
  return less.at(-1)?.context_tokens ?? null;
}
