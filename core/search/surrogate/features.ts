import { isActive, listed, unitOf, valueAt } from "../points.ts";
import type { Dimension, PointValue, Space, SpacePoint } from "../space.ts";

/** A dimension without a value lies in the middle of its range: what rules it out tells the rest. */
const ABSENT = 0.5;

/** How points of a space become rows of numbers between which a distance has a meaning. */
export interface Features {
  /** Coordinates of a row. */
  readonly width: number;
  /** The dimension, by index, that each coordinate belongs to. */
  readonly groupOf: Int32Array;
  /** Dimensions of the space. */
  readonly groups: number;
  rowOf(point: SpacePoint): Float64Array;
  /** The coordinates in which a point can move continuously. */
  slopesAt(point: SpacePoint): number[];
  /** The point with other places along such coordinates, as near as the space has one. */
  moved(point: SpacePoint, coordinates: readonly number[], row: Float64Array): SpacePoint;
}

/** Whether a dimension is one coordinate; a choice has one for each of its values. */
function isScale({ kind }: Dimension): boolean {
  return kind !== "choice";
}

/** Where a value lies on its scale: 0 the first, 1 the last. */
function placeOf(dimension: Dimension, value: PointValue): number {
  const values = listed(dimension);
  if (values === null) return unitOf(dimension, value);
  return values.length < 2 ? ABSENT : values.indexOf(value) / (values.length - 1);
}

/**
 * The features of a space: a scale is one coordinate from 0 to 1, a choice one a value, so that two
 * different values are 1 apart. A dimension that a point has no value for lies in the middle.
 */
export function featuresOf(space: Space): Features {
  const { dimensions } = space;
  const starts: number[] = [];
  const groupOf: number[] = [];
  dimensions.forEach((dimension, group) => {
    starts.push(groupOf.length);
    const count = isScale(dimension) ? 1 : dimension.choices?.length ?? 0;
    for (let i = 0; i < count; i++) groupOf.push(group);
  });
  const rowOf = (point: SpacePoint) => {
    const row = new Float64Array(groupOf.length);
    dimensions.forEach((dimension, group) => {
      const value = point[dimension.name];
      const start = starts[group]!;
      if (isScale(dimension)) row[start] = value === undefined ? ABSENT : placeOf(dimension, value);
      else if (value !== undefined) row[start + dimension.choices!.indexOf(value)] = Math.SQRT1_2;
    });
    return row;
  };
  const continuous = ({ kind }: Dimension) => kind === "real" || kind === "integer";
  return {
    width: groupOf.length,
    groupOf: Int32Array.from(groupOf),
    groups: dimensions.length,
    rowOf,
    slopesAt: (point) =>
      dimensions.flatMap((dimension, group) =>
        continuous(dimension) && isActive(dimension, point) ? [starts[group]!] : []
      ),
    moved(point, coordinates, row) {
      const changed = coordinates.map((coordinate) => {
        const dimension = dimensions[groupOf[coordinate]!]!;
        return [dimension.name, valueAt(dimension, row[coordinate]!)];
      });
      return { ...point, ...Object.fromEntries(changed) };
    },
  };
}
