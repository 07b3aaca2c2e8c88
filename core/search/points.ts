import type { Dimension, PointValue, Space, SpacePoint } from "./space.ts";

/** Parts that a range of numbers is divided in for a step of `pointNeighbours`. */
const STEPS = 8;
/** Of a real number, so that a point can be read, typed and found again. */
const DIGITS = 6;

/** Whether a point that has values for all dimensions before this one has one for it, too. */
export function isActive({ when }: Dimension, point: SpacePoint): boolean {
  if (when === undefined) return true;
  const value = point[when.name];
  return value !== undefined && when.is.includes(value);
}

/** The dimensions that a point has a value for, in the order of the space. */
export function activeDimensions({ dimensions }: Space, point: SpacePoint): Dimension[] {
  return dimensions.filter((dimension) => isActive(dimension, point));
}

/** The values of a dimension that has a list of them; null: it has a range. */
export function listed({ kind, choices }: Dimension): readonly PointValue[] | null {
  return kind === "ordinal" || kind === "choice" ? choices ?? [] : null;
}

/** The ends of a range on the scale that is searched; a whole number fills half a step either way. */
function scaleOf({ kind, minimum = 0, maximum = 1, log }: Dimension) {
  const half = kind === "integer" ? 0.5 : 0;
  const scale = log === true ? Math.log : (value: number) => value;
  const back = log === true ? Math.exp : (value: number) => value;
  return { low: scale(minimum - half), high: scale(maximum + half), scale, back };
}

/** The index of the choice whose share of the range from 0 to 1 holds `unit`. */
function choiceAt(shares: readonly number[], unit: number): number {
  let end = 0;
  const at = shares.findIndex((share) => unit < (end += share));
  return at < 0 ? shares.findLastIndex((share) => share > 0) : at;
}

/** The value at `unit`, from 0 to 1: choices by their shares, whole numbers in equal ones. */
export function valueAt(dimension: Dimension, unit: number): PointValue {
  const values = listed(dimension);
  if (values !== null) {
    const at = dimension.shares === undefined
      ? Math.min(values.length - 1, Math.floor(unit * values.length))
      : choiceAt(dimension.shares, unit);
    return values[at]!;
  }
  const { minimum = 0, maximum = 1, kind } = dimension;
  const { low, high, back } = scaleOf(dimension);
  const value = back(low + unit * (high - low));
  const round = kind === "integer" ? Math.round(value) : Number(value.toPrecision(DIGITS));
  return Math.min(maximum, Math.max(minimum, round));
}

/** Where a value lies in its dimension, from 0 to 1: `valueAt` gives it back. */
export function unitOf(dimension: Dimension, value: PointValue): number {
  const values = listed(dimension);
  if (values !== null) {
    const at = values.indexOf(value);
    const { shares = values.map(() => 1 / values.length) } = dimension;
    return shares.slice(0, at).reduce((sum, one) => sum + one, 0) + shares[at]! / 2;
  }
  const { low, high, scale } = scaleOf(dimension);
  return high === low ? 0.5 : Math.min(1, Math.max(0, (scale(Number(value)) - low) / (high - low)));
}

/** A point whose dimensions take their values one after another, each knowing those before it. */
export function builtPoint(
  { dimensions }: Space,
  choose: (dimension: Dimension, before: SpacePoint) => PointValue,
): SpacePoint {
  const point: Record<string, PointValue> = {};
  for (const dimension of dimensions) {
    if (isActive(dimension, point)) point[dimension.name] = choose(dimension, point);
  }
  return point;
}

/** A point drawn uniformly, dimension by dimension; it may be a forbidden combination. */
export function randomPoint(space: Space, random: () => number): SpacePoint {
  return builtPoint(space, (dimension) => valueAt(dimension, random()));
}

/** One string for one point, whatever the order in which its values were written. */
export function pointKey({ dimensions }: Space, point: SpacePoint): string {
  return JSON.stringify(dimensions.map(({ name }) => point[name] ?? null));
}

/** Why a dimension cannot have a value; null: it can. */
export function checkValue(dimension: Dimension, value: PointValue): string | null {
  const { name, kind, minimum = 0, maximum = 1 } = dimension;
  const values = listed(dimension);
  if (values !== null) {
    return values.includes(value) ? null : `${name} is ${value}: it is one of ${values.join(", ")}`;
  }
  const whole = kind === "real" || Number.isInteger(value);
  const fits = typeof value === "number" && whole && value >= minimum && value <= maximum;
  const number = kind === "real" ? "a number" : "a whole number";
  return fits ? null : `${name} is ${value}: it is ${number} from ${minimum} to ${maximum}`;
}

/** Why this is no point of the space, or a forbidden one; null: it can be tried. */
export function checkPoint(space: Space, point: SpacePoint): string | null {
  const known = new Set(space.dimensions.map(({ name }) => name));
  const stranger = Object.keys(point).find((name) => !known.has(name));
  if (stranger !== undefined) return `there is no dimension ${stranger}`;
  for (const dimension of space.dimensions) {
    const value = point[dimension.name];
    if (isActive(dimension, point) !== (value !== undefined)) {
      return value === undefined
        ? `${dimension.name} has no value`
        : `${dimension.name} has a value where ${dimension.when?.name} rules it out`;
    }
    const reason = value === undefined ? null : checkValue(dimension, value);
    if (reason !== null) return reason;
  }
  return space.forbidden?.(point) ?? null;
}

/**
 * The point with another value of one dimension: what still exists stays as it is, and what comes to
 * exist takes the value that `fill` gives.
 */
export function withValue(
  space: Space,
  point: SpacePoint,
  change: { readonly name: string; readonly value: PointValue },
  fill: (dimension: Dimension) => PointValue = usualValue,
): SpacePoint {
  return builtPoint(
    space,
    (dimension) =>
      dimension.name === change.name ? change.value : point[dimension.name] ?? fill(dimension),
  );
}

/** What a dimension is where nobody says otherwise: its default, or the middle. */
export function usualValue(dimension: Dimension): PointValue {
  return dimension.default ?? valueAt(dimension, 0.5);
}

/** Values one step away: of a choice every other one, of a range an eighth of it either way. */
function steps(dimension: Dimension, value: PointValue): PointValue[] {
  const values = listed(dimension);
  if (values !== null) {
    const at = values.indexOf(value);
    return dimension.kind === "choice"
      ? values.filter((_, i) => i !== at)
      : [values[at - 1], values[at + 1]].filter((one) => one !== undefined);
  }
  const { minimum = 0, maximum = 1 } = dimension;
  const unit = unitOf(dimension, value);
  const near = dimension.kind === "integer" ? [Number(value) - 1, Number(value) + 1] : [];
  const moved = [unit - 1 / STEPS, unit + 1 / STEPS]
    .map((one) => valueAt(dimension, Math.min(1, Math.max(0, one))));
  const found = new Set([...moved, ...near.filter((one) => one >= minimum && one <= maximum)]);
  found.delete(value);
  return [...found];
}

/** Every point one step of one dimension away; forbidden ones are left out. */
export function pointNeighbours(
  space: Space,
  point: SpacePoint,
  fill: (dimension: Dimension) => PointValue = usualValue,
): SpacePoint[] {
  return activeDimensions(space, point)
    .flatMap((dimension) =>
      steps(dimension, point[dimension.name]!).map((value) =>
        withValue(space, point, { name: dimension.name, value }, fill)
      )
    ).filter((near) => (space.forbidden?.(near) ?? null) === null);
}
