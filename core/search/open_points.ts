import { checkPoint, pointKey, randomPoint } from "./points.ts";
import { gridPoints } from "./grid_points.ts";
import type { SearchState, SpacePoint } from "./space.ts";

/** Draws before what is left is looked for in order. */
const DRAWS = 400;
/** Points of the grid that are looked at. */
const LOOKED_AT = 20_000;

type Asked = Pick<SearchState, "space" | "seen">;

/**
 * A test for points: true for one that can be tried and was not, neither with success nor without. What
 * failed by the machine's fault may be tried a second time, not a third.
 */
export function openPoints({ space, seen }: Asked): (point: SpacePoint) => boolean {
  const closed = new Set<string>();
  const failed = new Set<string>();
  for (const { point, state } of seen) {
    const key = pointKey(space, point);
    if (state !== "failed" || failed.has(key)) closed.add(key);
    failed.add(key);
  }
  return (point) => !closed.has(pointKey(space, point)) && checkPoint(space, point) === null;
}

/** The first open point of the grid, coarse to fine; null: none is left that it comes to. */
export function nextOfGrid(
  { space }: Asked,
  isOpen: (point: SpacePoint) => boolean,
): SpacePoint | null {
  let looked = 0;
  for (const point of gridPoints(space)) {
    if (isOpen(point)) return point;
    if (++looked >= LOOKED_AT) break;
  }
  return null;
}

/** An open point drawn uniformly; where drawing finds none, the first of the grid; null: none is left. */
export function drawOpenPoint(
  state: Asked & Pick<SearchState, "random">,
  isOpen = openPoints(state),
): SpacePoint | null {
  for (let draw = 0; draw < DRAWS; draw++) {
    const point = randomPoint(state.space, state.random);
    if (isOpen(point)) return point;
  }
  return nextOfGrid(state, isOpen);
}

/** The first of the points to begin with that is open; null: all were tried, or cannot be. */
export function nextInitial(
  { initial = [] }: Pick<SearchState, "initial">,
  isOpen: (point: SpacePoint) => boolean,
): SpacePoint | null {
  return initial.find(isOpen) ?? null;
}
