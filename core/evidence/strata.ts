import type { SampleResult } from "../schemas/measurement.ts";

/** What a mean needs to know of an item: its stratum, and how many rows that has in the data. */
export type Drawn = Pick<SampleResult, "stratum" | "stratum_rows">;

/** The items of one stratum, by their places, and its share of the rows of all strata. */
interface Stratum {
  readonly places: readonly number[];
  readonly share: number;
}

/** The strata of a sample that was drawn by strata; null where every item counts alike. */
function strataOf(items: readonly Drawn[]): Stratum[] | null {
  if (items.length === 0 || items.some(({ stratum_rows }) => (stratum_rows ?? null) === null)) {
    return null;
  }
  const byName = Map.groupBy(items.keys(), (place) => items[place]!.stratum ?? "");
  const lists = [...byName.values()];
  const rows = lists.map(([first]) => items[first!]!.stratum_rows!);
  const all = rows.reduce((sum, count) => sum + count, 0);
  return lists.map((places, i) => ({ places, share: rows[i]! / all }));
}

/**
 * How much each item counts in the benchmark's mean, in the order given: its stratum's share of the
 * rows over its stratum's share of the sample, so that they add up to n; 1 each where the sample was
 * not drawn by strata.
 */
export function sampleWeights(items: readonly Drawn[]): number[] {
  const weights = items.map(() => 1);
  for (const { places, share } of strataOf(items) ?? []) {
    for (const place of places) weights[place] = share * items.length / places.length;
  }
  return weights;
}

/** Σ weight·value / Σ weight; NaN where there are none. */
export function weightedMean(parts: readonly { value: number; weight: number }[]): number {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return parts.reduce((sum, { value, weight }) => sum + weight * value, 0) / total;
}

/** The weighted mean of values, each with the weight at its place. */
export function meanBy(values: readonly number[], weights: readonly number[]): number {
  return weightedMean(values.map((value, i) => ({ value, weight: weights[i]! })));
}

/**
 * Items of equal weight that would tell as much (Kish 1965): (Σ w)² / Σ w². What a stratum's own
 * variance is, a few samples do not say; with one variance for all strata this is exact.
 */
export function effectiveSize(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return total ** 2 / weights.reduce((sum, weight) => sum + weight ** 2, 0);
}

function sumOfSquares(values: readonly number[]): number {
  const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}

/**
 * Mean with its standard error; null below two values. Drawn by strata: Σ W·mean and
 * √(Σ W²s²/n) over the strata (Cochran 1977, 5.3 and 5.4), W the share of the rows, no correction
 * for a finite benchmark. A stratum of one sample has no variance of its own: it takes the one
 * pooled over the others, and where all have one sample, that of all samples together.
 */
export function meanAndErrorOf(
  values: readonly number[],
  items: readonly Drawn[],
): { mean: number; standard_error: number | null } {
  const n = values.length;
  const mean = meanBy(values, sampleWeights(items));
  if (n < 2) return { mean, standard_error: null };
  const strata = strataOf(items);
  if (strata === null) {
    return { mean, standard_error: Math.sqrt(sumOfSquares(values) / (n - 1) / n) };
  }
  const parts = strata.map(({ places, share }) => {
    const own = places.map((place) => values[place]!);
    return { share, n: own.length, squares: sumOfSquares(own) };
  });
  const freedom = parts.reduce((sum, part) => sum + part.n - 1, 0);
  const pooled = freedom === 0
    ? sumOfSquares(values) / (n - 1)
    : parts.reduce((sum, { squares }) => sum + squares, 0) / freedom;
  const variance = parts.reduce((sum, { share, n, squares }) => {
    const own = n === 1 ? pooled : squares / (n - 1);
    return sum + share ** 2 * own / n;
  }, 0);
  return { mean, standard_error: Math.sqrt(variance) };
}
