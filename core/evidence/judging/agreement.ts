import { mean } from "../statistics.ts";
import { bootstrapInterval } from "./bootstrap.ts";

/** How two values count as apart: as other names, or by the square of their distance. */
export type Level = "nominal" | "interval";

/** What two raters gave one answer. */
export type Both = readonly [number, number];

/** A statistic with its 95 % interval by bootstrap; null: it is not defined there. */
export interface Estimate {
  readonly value: number;
  readonly interval: readonly [number, number] | null;
}

const apart = (level: Level, a: number, b: number) =>
  level === "interval" ? (a - b) ** 2 : +(a !== b);

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** How far values are apart, all ordered pairs of them together. */
function allApart(level: Level, values: readonly number[]): number {
  const n = values.length;
  if (level === "interval") {
    // From their mean, so that no digits are lost where all are large and near.
    const centre = mean(values);
    return 2 * n * sum(values.map((value) => (value - centre) ** 2));
  }
  const counts = [...Map.groupBy(values, (value) => value).values()].map((own) => own.length);
  return n * n - sum(counts.map((count) => count * count));
}

/**
 * Cohen's kappa of two raters of the same answers; with `interval` weighted by squares (Cohen 1968), which
 * of scores of 0 and 1 is the same. Null: it is not defined, as both say one thing of all.
 */
export function cohenKappa(pairs: readonly Both[], level: Level = "interval"): number | null {
  if (pairs.length === 0) return null;
  const [first, second] = [pairs.map(([a]) => a), pairs.map(([, b]) => b)];
  const observed = mean(pairs.map(([a, b]) => apart(level, a, b)));
  const expected = level === "interval"
    ? (allApart(level, first) + allApart(level, second)) / (2 * pairs.length ** 2) +
      (mean(first) - mean(second)) ** 2
    : 1 - nominalChance(first, second);
  if (expected <= 0) return null;
  const kappa = 1 - observed / expected;
  return Math.abs(kappa) < 1e-12 ? 0 : kappa; // no agreement, but for rounding
}

/** How often two raters would say the same by chance. */
function nominalChance(first: readonly number[], second: readonly number[]): number {
  const shares = (values: readonly number[]) =>
    new Map([...Map.groupBy(values, (value) => value)].map(([value, own]) => [value, own.length]));
  const other = shares(second);
  const met = [...shares(first)].map(([value, count]) => count * (other.get(value) ?? 0));
  return sum(met) / (first.length * second.length);
}

/**
 * Krippendorff's alpha of any number of raters, who need not have rated every answer (Krippendorff 2011).
 * `units`: the values that each answer was given. Null: it is not defined.
 */
export function krippendorffAlpha(
  units: readonly (readonly number[])[],
  level: Level = "interval",
): number | null {
  const rated = units.filter((values) => values.length > 1);
  const every = rated.flat();
  const n = every.length;
  if (n < 2) return null;
  const observed = sum(rated.map((own) => allApart(level, own) / (own.length - 1))) / n;
  const expected = allApart(level, every) / (n * (n - 1));
  return expected > 0 ? 1 - observed / expected : null;
}

/** How far two raters agree about the same answers. */
export interface Agreement {
  readonly n: number;
  /** Share of the answers that both gave the same. */
  readonly same: number;
  /** Second less first, mean. */
  readonly difference: Estimate;
  /** Cohen's, weighted by squares; null: not defined, as where one gives all the same. */
  readonly kappa: Estimate | null;
  /** Krippendorff's, of intervals. */
  readonly alpha: Estimate | null;
}

/** Scores that differ in the last bits of a sum are the same. */
const SAME = 1e-9;

/** How far the second rater agrees with the first. `seed`: of the bootstrap. Null: of no answer. */
export function agreementOf(pairs: readonly Both[], seed: number): Agreement | null {
  if (pairs.length === 0) return null;
  const estimate = (statistic: (of: readonly Both[]) => number | null): Estimate | null => {
    const value = statistic(pairs);
    return value === null ? null : { value, interval: bootstrapInterval(pairs, statistic, seed) };
  };
  return {
    n: pairs.length,
    same: mean(pairs.map(([a, b]) => +(Math.abs(a - b) <= SAME))),
    difference: estimate((of) => mean(of.map(([a, b]) => b - a)))!, // a mean is always defined
    kappa: estimate((of) => cohenKappa(of)),
    alpha: estimate((of) => krippendorffAlpha(of)),
  };
}
