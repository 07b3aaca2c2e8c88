import { paretoFront } from "../../front/pareto.ts";
import type { Learned, SearchState, SpacePoint } from "../space.ts";
import type { Features } from "./features.ts";
import { fitProcess, type Model } from "./gaussian_process.ts";
import type { Scale } from "./objectives.ts";

/** Points of earlier studies that a model is made of: the most alike, of those the latest. */
const MODELLED = 60;
/** Fewer say nothing of a space. */
const LEAST = 5;
/** Points of earlier fronts that moves start from. */
const PARENTS = 8;

function mostAlike({ learned = [] }: Pick<SearchState, "learned">): Learned[] {
  return learned.map((one, at) => ({ one, at }))
    .sort((a, b) => b.one.likeness - a.one.likeness || b.at - a.at)
    .slice(0, MODELLED).map(({ one }) => one);
}

/**
 * What earlier studies of like models tell of an objective: a process of their values, each as doubtful as its
 * study is unlike this one, so that it says little where they measured nothing, or something else. Null:
 * there are too few.
 */
export function learnedModel(
  state: Pick<SearchState, "learned">,
  features: Features,
  { scaled }: Scale,
  m: number,
): Model | null {
  const used = mostAlike(state);
  if (used.length < LEAST) return null;
  const values = used.map((one) => scaled(one.values[m]!));
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const spread = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length;
  return fitProcess(features, {
    rows: used.map(({ point }) => features.rowOf(point)),
    values,
    variances: used.map(({ likeness }) => (1 - likeness) ** 2 * spread),
  });
}

/** Points of earlier fronts, best first by how evenly they lie on it. */
export function learnedFront(
  { learned, corner, directions }: Pick<SearchState, "learned" | "corner" | "directions">,
): SpacePoint[] {
  const sign = directions.map((direction) => direction === "maximize" ? -1 : 1);
  const inside = mostAlike({ ...(learned === undefined ? {} : { learned }) }).filter(({ values }) =>
    corner === undefined || values.every((value, m) => sign[m]! * (value - corner[m]!) < 0)
  );
  const front = paretoFront(inside.map(({ values }) => values), directions).map((i) => inside[i]!)
    .sort((a, b) => sign[0]! * (a.values[0]! - b.values[0]!));
  const step = Math.max(1, front.length / PARENTS);
  const even: SpacePoint[] = [];
  for (let at = step / 2; at < front.length; at += step) even.push(front[Math.floor(at)]!.point);
  return fromTheMiddle(even);
}

/** The middle first, the ends last: where a front bends most is gained. */
function fromTheMiddle<T>(list: readonly T[]): T[] {
  const middle = (list.length - 1) / 2;
  return list.map((item, at) => ({ item, off: Math.abs(at - middle) }))
    .sort((a, b) => a.off - b.off).map(({ item }) => item);
}
