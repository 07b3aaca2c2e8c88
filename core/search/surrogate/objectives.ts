import { paretoFront } from "../../front/pareto.ts";
import type { SearchState, Seen } from "../space.ts";

/** How far behind the worst value the reference lies, as a share of it or of the reach. */
const BEHIND = 0.1;

/** The scale on which one objective is modelled: to be minimised. */
export interface Scale {
  scaled(value: number): number;
  /** How much a small difference at a value is stretched. */
  stretch(value: number): number;
}

/** A measured point with values that are numbers. */
export type Measured = Seen & { readonly values: readonly number[] };

/** What is measured: done, or ended early with values of a lower rung. Not a number is no value. */
export function measuredOf({ seen, directions }: SearchState): Measured[] {
  return seen.filter((one): one is Measured =>
    (one.state === "done" || one.state === "stopped") && one.values !== null &&
    one.values.length === directions.length && one.values.every(Number.isFinite)
  );
}

/** Points that count where turns are taken: what the machine failed, or a kill cancelled, has its turn again. */
export function turnsTaken({ seen }: Pick<SearchState, "seen">): number {
  return seen.filter(({ state }) => state !== "failed").length;
}

/** Whether a measured point may stand on a front. */
export function isAllowed({ state, violations = [] }: Seen): boolean {
  return state === "done" && violations.every((violation) => !(violation > 0));
}

/** By how much a point exceeds all its limits together. */
export function excessOf({ violations = [] }: Pick<Seen, "violations">): number {
  return violations.reduce((sum, one) => sum + Math.max(0, one), 0);
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/** The scale that a value was measured on, turned where more is better. */
export function plainScale(direction: SearchState["directions"][number]): Scale {
  const sign = direction === "maximize" ? -1 : 1;
  return { scaled: (value) => sign * value, stretch: () => 1 };
}

/**
 * A scale on which differences beyond the middle of the values count by their logarithm: how bad a bad
 * point is says little of the front, and a model that had to follow it would see less of the rest.
 */
export function bentScale(
  direction: SearchState["directions"][number],
  values: readonly number[],
): Scale {
  const { scaled } = plainScale(direction);
  const turned = values.map(scaled);
  const knee = middle(turned);
  const reach = knee - Math.min(...turned);
  if (!(reach > 0)) return plainScale(direction);
  const over = (value: number) => Math.max(0, scaled(value) - knee) / reach;
  return {
    scaled: (value) => Math.min(scaled(value), knee) + reach * Math.log1p(over(value)),
    stretch: (value) => 1 / (1 + over(value)),
  };
}

/** The rows that nothing dominates; all minimised. */
export function frontOf(rows: readonly (readonly number[])[]): (readonly number[])[] {
  const first = rows[0];
  if (first === undefined) return [];
  return paretoFront(rows, first.map(() => "minimize" as const)).map((i) => rows[i]!);
}

/** Values further behind the middle than so often the reach before it are disasters. */
const DISASTER = 3;

/** The worst value that is no disaster. */
function worstOf(values: readonly number[]): number {
  const knee = middle(values);
  const furthest = knee + DISASTER * (knee - Math.min(...values));
  return Math.max(...values.filter((value) => value <= furthest));
}

/**
 * What a gain in volume is measured from, by objective: the study's own corner; where it has none, behind the
 * worst value by a tenth of it, and at least by a tenth of the reach, so that the ends of the front count. Ratios
 * and sizes have a natural zero; the tenth is of that (as Optuna's samplers take it). Rows of disasters do not
 * move it, or all that is gained would be gained on them.
 */
export function referenceOf(
  rows: readonly (readonly number[])[],
  corner: readonly number[] = [],
): number[] {
  return rows[0]!.map((_, m) => {
    const own = corner[m];
    if (own !== undefined) return own;
    const all = rows.map((row) => row[m]!);
    const worst = worstOf(all);
    const reach = worst - Math.min(...all);
    return worst + (BEHIND * Math.max(Math.abs(worst), reach) || 1e-6);
  });
}
