import { isActive, listed, usualValue, valueAt } from "./points.ts";
import type { Dimension, PointValue, Space, SpacePoint } from "./space.ts";

/** A range is halved so often; then a step is a 64th of it. */
const FINEST = 6;
/** Whole numbers of a range up to which all of them have their turn. */
const FEW = 64;

/** A dimension's values by level: what is usual, then the ends or the other choices, then between. */
function levelsOf(dimension: Dimension): PointValue[][] {
  const first = dimension.default ?? listed(dimension)?.[0] ?? usualValue(dimension);
  const known = new Set<PointValue>([first]);
  const fresh = (values: readonly (PointValue | undefined)[]) =>
    values.filter((value) => {
      if (value === undefined || known.has(value)) return false;
      known.add(value);
      return true;
    }) as PointValue[];
  const levels = [[first], ...finer(dimension).map(fresh)];
  return levels.filter((values) => values.length > 0);
}

function finer(dimension: Dimension): (PointValue | undefined)[][] {
  const values = listed(dimension);
  if (values !== null) {
    return dimension.kind === "ordinal" ? [[values[0], values.at(-1)], [...values]] : [[...values]];
  }
  const { kind, minimum = 0, maximum = 1 } = dimension;
  const halves = Array.from({ length: FINEST }, (_, level) => {
    const count = 2 ** (level + 1);
    return Array.from({ length: count / 2 }, (_, i) => valueAt(dimension, (2 * i + 1) / count));
  });
  const all = kind === "integer" && maximum - minimum < FEW
    ? Array.from({ length: maximum - minimum + 1 }, (_, i) => minimum + i)
    : [];
  return [[minimum, maximum], ...halves, all];
}

/**
 * The space's points, coarse to fine: first all that is usual, then what differs from it by one level in
 * one dimension, then by two in all, and so on (a sparse grid after Smolyak 1963). Forbidden points
 * are among them. A finite space is gone through to its end where its ranges are short.
 */
export function* gridPoints({ dimensions }: Space): Generator<SpacePoint> {
  const levels = dimensions.map(levelsOf);
  // What the dimensions from each one on can still use up.
  const most = levels.map((_, i) =>
    levels.slice(i).reduce((total, own) => total + own.length - 1, 0)
  );
  function* from(at: number, point: SpacePoint, left: number): Generator<SpacePoint> {
    const dimension = dimensions[at];
    if (left > (most[at] ?? 0)) return;
    if (dimension === undefined) yield point;
    else if (!isActive(dimension, point)) yield* from(at + 1, point, left);
    else {
      for (const [level, values] of levels[at]!.entries()) {
        if (level > left) break;
        for (const value of values) {
          yield* from(at + 1, { ...point, [dimension.name]: value }, left - level);
        }
      }
    }
  }
  for (let total = 0; total <= (most[0] ?? 0); total++) yield* from(0, {}, total);
}
