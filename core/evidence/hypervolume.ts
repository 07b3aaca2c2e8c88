import { covers, type Direction, minimised, type Point } from "./pareto.ts";

/**
 * The volume between the points and the reference that at least one point beats. A point on or
 * beyond the reference adds nothing; no points, no volume. Sweeps in two and three dimensions,
 * slicing with exclusive volumes (WFG) above.
 */
export function hypervolume(
  points: readonly Point[],
  reference: Point,
  directions: readonly Direction[],
): number {
  const [corner] = minimised([reference], directions);
  const inside = minimised(points, directions).filter((point) =>
    point.every((value, i) => value < corner![i]!)
  );
  return volume(undominated(inside), corner!);
}

/** What the volume loses without each point: 0 for a dominated or a doubled one. */
export function hypervolumeContributions(
  points: readonly Point[],
  reference: Point,
  directions: readonly Direction[],
): number[] {
  const all = hypervolume(points, reference, directions);
  return points.map((_, left) =>
    Math.max(0, all - hypervolume(points.filter((_, i) => i !== left), reference, directions))
  );
}

/** The rows nothing covers, one of each set of duplicates. */
function undominated(rows: readonly number[][]): number[][] {
  const sorted = [...rows].sort((a, b) => {
    const i = a.findIndex((value, k) => value !== b[k]);
    return i < 0 ? 0 : a[i]! - b[i]!;
  });
  const kept: number[][] = [];
  for (const row of sorted) {
    if (!kept.some((member) => covers(member, row))) kept.push(row);
  }
  return kept;
}

function volume(front: readonly number[][], reference: Point): number {
  if (front.length === 0) return 0;
  switch (reference.length) {
    case 1:
      return reference[0]! - Math.min(...front.map((row) => row[0]!));
    case 2:
      return area(front, reference);
    case 3:
      return sweep(front, reference);
    default:
      return sliced(front, reference);
  }
}

/** Two dimensions: left to right, each step of the staircase adds a rectangle. */
function area(front: readonly number[][], reference: Point): number {
  let total = 0;
  let height = reference[1]!;
  for (const [x, y] of [...front].sort((a, b) => a[0]! - b[0]!) as [number, number][]) {
    if (y >= height) continue;
    total += (reference[0]! - x) * (height - y);
    height = y;
  }
  return total;
}

/** Three dimensions: bottom to top, the covered area times the thickness of each layer. */
function sweep(front: readonly number[][], reference: Point): number {
  const layers = [...front].sort((a, b) => a[2]! - b[2]!);
  let staircase: number[][] = [];
  let total = 0;
  layers.forEach((row, i) => {
    if (!staircase.some((step) => step[0]! <= row[0]! && step[1]! <= row[1]!)) {
      staircase = staircase.filter((step) => !(row[0]! <= step[0]! && row[1]! <= step[1]!));
      staircase.push(row);
    }
    const top = layers[i + 1]?.[2] ?? reference[2]!;
    if (top > row[2]!) total += area(staircase, reference) * (top - row[2]!);
  });
  return total;
}

/**
 * More dimensions: worst last coordinate first, so that every later point reaches as far along it
 * and the part that a point adds alone is a volume of one dimension less.
 */
function sliced(front: readonly number[][], reference: Point): number {
  const last = reference.length - 1;
  const base = reference.slice(0, last);
  const sorted = [...front].sort((a, b) => b[last]! - a[last]!);
  return sorted.reduce((total, row, i) => {
    const own = base.reduce((product, corner, k) => product * (corner - row[k]!), 1);
    const limited = sorted.slice(i + 1).map((other) =>
      base.map((_, k) => Math.max(row[k]!, other[k]!))
    );
    const shared = volume(undominated(limited), base);
    return total + (own - shared) * (reference[last]! - row[last]!);
  }, 0);
}
