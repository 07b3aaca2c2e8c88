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
  return volume(inside, corner!);
}

/**
 * What the volume loses without each point: 0 for a dominated or a doubled one. `beside`: further
 * points that fill the volume, whose own loss nobody asks for. In three dimensions n² log n.
 */
export function hypervolumeContributions(
  points: readonly Point[],
  reference: Point,
  directions: readonly Direction[],
  beside: readonly Point[] = [],
): number[] {
  const [corner] = minimised([reference], directions);
  const last = reference.length - 1;
  const rows = minimised(points, directions);
  const isInside = (row: Point) => row.every((value, i) => value < corner![i]!);
  // In the order of the sweep: what follows finds its rows sorted.
  const inside = [...rows, ...minimised(beside, directions)].filter(isInside)
    .sort((a, b) => a[last]! - b[last]!);
  return rows.map((row) => isInside(row) ? exclusive(row, inside, corner!) : 0);
}

/** The part of the box from a row to the corner that no other row reaches. */
function exclusive(row: Point, rows: readonly number[][], corner: Point): number {
  const others = rows.filter((other) => other !== row);
  if (others.some((other) => covers(other, row))) return 0;
  const box = row.reduce((product, value, i) => product * (corner[i]! - value), 1);
  const shared = others.map((other) => other.map((value, i) => Math.max(value, row[i]!)));
  return Math.max(0, box - volume(shared, corner));
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

/** The volume of rows before the corner; dominated ones may be among them. */
function volume(rows: readonly number[][], corner: Point): number {
  if (rows.length === 0) return 0;
  switch (corner.length) {
    case 1:
      return corner[0]! - Math.min(...rows.map((row) => row[0]!));
    case 2:
      return area(rows, corner);
    case 3:
      return sweep(rows, corner);
    default:
      return sliced(undominated(rows), corner);
  }
}

/** Two dimensions: left to right, each step of the staircase adds a rectangle. */
function area(rows: readonly number[][], corner: Point): number {
  let total = 0;
  let height = corner[1]!;
  for (const [x, y] of [...rows].sort((a, b) => a[0]! - b[0]!) as [number, number][]) {
    if (y >= height) continue;
    total += (corner[0]! - x) * (height - y);
    height = y;
  }
  return total;
}

/**
 * Three dimensions: bottom to top, the covered area times the thickness of each layer. The area's
 * staircase is kept in order, so that each row costs a search and what it adds.
 */
function sweep(rows: readonly number[][], corner: Point): number {
  const layers = [...rows].sort((a, b) => a[2]! - b[2]!);
  const steps = staircase(corner[0]!, corner[1]!);
  let total = 0;
  layers.forEach((row, i) => {
    const covered = steps.add(row[0]!, row[1]!);
    total += covered * ((layers[i + 1]?.[2] ?? corner[2]!) - row[2]!);
  });
  return total;
}

/** The area that points of a plane beat before a corner, point after point. */
function staircase(right: number, top: number): { add(x: number, y: number): number } {
  // Left to right and downwards; no step beats another.
  const xs: number[] = [];
  const ys: number[] = [];
  let covered = 0;
  return {
    add(x, y) {
      const at = firstBeyond(xs, x);
      let height = at === 0 ? top : ys[at - 1]!;
      if (height <= y) return covered;
      let next = at;
      let left = x;
      // Above the steps that the point takes the place of, then up to the one that it leaves.
      for (; next < xs.length && ys[next]! >= y; next++) {
        covered += (xs[next]! - left) * (height - y);
        left = xs[next]!;
        height = ys[next]!;
      }
      covered += ((xs[next] ?? right) - left) * (height - y);
      const equal = at > 0 && xs[at - 1] === x ? 1 : 0; // a higher step at the same x goes, too
      xs.splice(at - equal, next - at + equal, x);
      ys.splice(at - equal, next - at + equal, y);
      return covered;
    },
  };
}

/** Index of the first of ascending values that is greater. */
function firstBeyond(values: readonly number[], value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
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
    const shared = volume(limited, base);
    return total + (own - shared) * (reference[last]! - row[last]!);
  }, 0);
}
