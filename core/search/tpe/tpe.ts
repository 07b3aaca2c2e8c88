import { drawOpenPoint, nextInitial, openPoints } from "../open_points.ts";
import { pointKey } from "../points.ts";
import type { SearchState, SpacePoint, Suggestion } from "../space.ts";
import { measuredOf } from "../surrogate/objectives.ts";
import { densityOf } from "./parzen.ts";
import { splitSeen } from "./split.ts";

/** Measured points before the densities are asked. */
const FIRST = 10;
/** Points drawn of the good ones' density. */
const CANDIDATES = 48;

/**
 * Tree-structured Parzen estimator for any number of objectives: of points drawn like the good ones, the
 * one that is most like them and least like the others (Bergstra et al. 2011; Ozaki et al. 2022).
 */
export function tpe(state: SearchState): Suggestion | null {
  const isOpen = openPoints(state);
  const initial = nextInitial(state, isOpen);
  if (initial !== null) {
    return { point: initial, mode: "explore", reason: "one of the points to begin with" };
  }
  const draw = (reason: string): Suggestion | null => {
    const point = drawOpenPoint(state, isOpen);
    return point === null ? null : { point, mode: "explore", reason };
  };
  const measured = measuredOf(state).length;
  if (measured < FIRST) {
    return draw(`drawn at random: ${measured} measured points are too few for densities`);
  }
  const { good, bad } = splitSeen(state);
  const [like, unlike] = [densityOf(state.space, good), densityOf(state.space, bad)];
  const drawn = new Map<string, SpacePoint>();
  for (let i = 0; i < CANDIDATES; i++) {
    const point = like.draw(state.random);
    drawn.set(pointKey(state.space, point), point);
  }
  const ranked = [...drawn.values()]
    .map((point) => ({ point, ratio: like.log(point) - unlike.log(point) }))
    .sort((a, b) => b.ratio - a.ratio);
  const best = ranked.find(({ point }) => isOpen(point));
  if (best === undefined) {
    return draw("drawn at random: all that is like the good points was tried");
  }
  const times = Math.exp(Math.min(best.ratio, 20));
  return {
    point: best.point,
    mode: "exploit",
    reason:
      `${times.toPrecision(2)} times as likely among the ${good.length} good points as among ` +
      `the ${bad.length} others`,
  };
}
