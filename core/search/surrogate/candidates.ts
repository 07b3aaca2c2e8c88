import { builtPoint, listed, unitOf, valueAt } from "../points.ts";
import type { Dimension, PointValue, Space, SpacePoint } from "../space.ts";

/** Shares of a range that a move along a scale takes on average: far, near and very near. */
const REACHES = [0.25, 0.08, 0.02];

/** A standard normal number (Box and Muller 1958). */
export function randomNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function movedValue(
  dimension: Dimension,
  value: PointValue,
  reach: number,
  random: () => number,
): PointValue {
  if (listed(dimension) !== null) return valueAt(dimension, random());
  const unit = unitOf(dimension, value) + reach * randomNormal(random);
  return valueAt(dimension, Math.min(1, Math.max(0, unit)));
}

/**
 * A point near another: at least one of its dimensions changed, two on average. What comes to exist by
 * that is drawn anew.
 */
export function mutated(space: Space, point: SpacePoint, random: () => number): SpacePoint {
  const names = Object.keys(point);
  const certain = names[Math.floor(random() * names.length)];
  const reach = REACHES[Math.floor(random() * REACHES.length)]!;
  return builtPoint(space, (dimension) => {
    const value = point[dimension.name];
    if (value === undefined) return valueAt(dimension, random());
    const change = dimension.name === certain || random() < 1 / names.length;
    return change ? movedValue(dimension, value, reach, random) : value;
  });
}

/** A point that has each value from one of two, where they have it. */
export function crossed(
  space: Space,
  a: SpacePoint,
  b: SpacePoint,
  random: () => number,
): SpacePoint {
  return builtPoint(space, (dimension) => {
    const [first, second] = random() < 0.5 ? [a, b] : [b, a];
    return first[dimension.name] ?? second[dimension.name] ?? valueAt(dimension, random());
  });
}
