import type { Seen } from "../space.ts";
import type { Features } from "./features.ts";
import { fitProcess, type Model } from "./gaussian_process.ts";
import { normalCdf, normalPdf } from "../../evidence/numerics/normal.ts";
import type { Measured } from "./objectives.ts";

/** Points of a kind that a model is made of: the latest. */
const MODELLED = 120;

/** Whether a point came to nothing by itself, so that its like may, too. */
function isRefused({ state, values }: Seen): boolean {
  const empty = values === null || !values.every(Number.isFinite);
  return state === "infeasible" || ((state === "stopped" || state === "done") && empty);
}

/** Items of two lists, evenly mixed: scales are fitted to a part, which is to be like the whole. */
function mixed<T>(a: readonly T[], b: readonly T[]): T[] {
  const placed = [a, b].flatMap((list) => list.map((item, i) => ({ item, at: i / list.length })));
  return placed.sort((one, other) => one.at - other.at).map(({ item }) => item);
}

/**
 * Models of what a point must pass to stand on the front, each at most 0 where it does: whether it comes
 * to anything at all, 1 or -1, and how far it exceeds each constraint that was ever violated.
 */
export function hurdlesOf(
  features: Features,
  seen: readonly Seen[],
  measured: readonly Measured[],
): Model[] {
  const hurdles: Model[] = [];
  const refused = seen.filter(isRefused);
  if (refused.length > 0) {
    const some = mixed<Seen>(refused.slice(-MODELLED), measured.slice(-MODELLED));
    const rows = some.map(({ point }) => features.rowOf(point));
    hurdles.push(
      fitProcess(features, { rows, values: some.map((one) => isRefused(one) ? 1 : -1) }),
    );
  }
  const constraints = Math.max(0, ...measured.map(({ violations = [] }) => violations.length));
  for (let c = 0; c < constraints; c++) {
    const told = measured.filter(({ violations }) => Number.isFinite(violations?.[c]))
      .slice(-2 * MODELLED);
    const values = told.map(({ violations }) => violations![c]!);
    if (!values.some((value) => value > 0)) continue;
    const rows = told.map(({ point }) => features.rowOf(point));
    hurdles.push(fitProcess(features, { rows, values }));
  }
  return hurdles;
}

/** The chance that a place passes all of them. */
export function chanceOf(hurdles: readonly Model[], row: Float64Array): number {
  return hurdles.reduce((product, model) => {
    const { mean, deviation } = model.predict(row);
    return product * normalCdf(-mean / deviation);
  }, 1);
}

/** The logarithm of the chance to pass one; adds its slopes along coordinates to the last argument. */
export function addChance(
  hurdle: Model,
  row: Float64Array,
  coordinates: readonly number[],
  slopes: Float64Array,
): number {
  const { mean, deviation, meanSlopes, deviationSlopes } = hurdle.slope(row, coordinates);
  const z = -mean / deviation;
  const chance = Math.max(normalCdf(z), 1e-300);
  for (let c = 0; c < coordinates.length; c++) {
    const turn = -(meanSlopes[c]! + z * deviationSlopes[c]!) / deviation;
    slopes[c]! += turn * normalPdf(z) / chance;
  }
  return Math.log(chance);
}
