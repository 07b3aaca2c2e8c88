import { lexicographicOrder } from "./sorted_order.ts";

/** Whether more or less of an objective is better. */
export type Direction = "maximize" | "minimize";

/** One row of objective values, in the order of the directions. */
export type Point = readonly number[];

/** The objectives of all points, one column each, to be minimised; NaN is refused. */
export function minimisedColumns(
  points: readonly Point[],
  directions: readonly Direction[],
): Float64Array[] {
  const width = directions.length;
  const odd = points.findIndex((point) => point.length !== width);
  if (odd >= 0) {
    throw new RangeError(
      `Cannot compare points as each needs ${width} objectives: ` +
        `point ${odd} has ${points[odd]!.length}`,
    );
  }
  return directions.map((direction, at) => {
    const column = new Float64Array(points.length);
    const sign = direction === "maximize" ? -1 : 1;
    for (let row = 0; row < points.length; row++) {
      const value = points[row]![at]!;
      if (value !== value) {
        throw new RangeError(
          `Cannot compare points as objective ${at} of point ${row} is not a number`,
        );
      }
      column[row] = sign * value;
    }
    return column;
  });
}

/** The points with every objective to be minimised; NaN is refused. */
export function minimised(points: readonly Point[], directions: readonly Direction[]): number[][] {
  const columns = minimisedColumns(points, directions);
  return points.map((_, row) => columns.map((column) => column[row]!));
}

/** Whether `a` is nowhere worse than `b`; both minimised. Equal points cover each other. */
export function covers(a: Point, b: Point): boolean {
  return a.every((value, i) => value <= b[i]!);
}

/**
 * Indices of the points that nothing dominates, in the order given. Duplicates are all kept: equal
 * points do not beat each other.
 */
export function paretoFront(
  points: readonly Point[],
  directions: readonly Direction[],
): number[] {
  const ranks = paretoRanks(points, directions);
  return ranks.flatMap((rank, i) => rank === 0 ? [i] : []);
}

/** Fronts that grow by rows that come in lexicographic order. */
interface Fronts {
  readonly count: () => number;
  /** Whether a member of a front is nowhere worse than a row that comes later. */
  covers(front: number, row: number): boolean;
  /** Adds a row to a front, or as the first of the next one. */
  add(front: number, row: number): void;
}

/**
 * The front each point belongs to, from 0: front 1 is what remains undominated without front 0,
 * and so on. Duplicates share a rank. Rows are taken in lexicographic order, so that only earlier ones
 * can cover a row, and its front is found by binary search (ENS-BS, Zhang et al. 2015): with two
 * objectives a front's last member decides, with three the staircase of the other two, above all members.
 */
export function paretoRanks(
  points: readonly Point[],
  directions: readonly Direction[],
): number[] {
  const columns = minimisedColumns(points, directions);
  const ranks = new Array<number>(points.length).fill(0);
  if (directions.length === 0) return ranks;
  const order = lexicographicOrder(columns);
  const fronts = frontsOf(columns);
  let before = -1;
  for (const row of order) {
    if (before >= 0 && areEqual(columns, row, before)) {
      ranks[row] = ranks[before]!;
      continue;
    }
    let low = 0;
    let high = fronts.count();
    while (low < high) {
      const middle = (low + high) >> 1;
      if (fronts.covers(middle, row)) low = middle + 1;
      else high = middle;
    }
    fronts.add(low, row);
    ranks[row] = low;
    before = row;
  }
  return ranks;
}

function areEqual(columns: readonly Float64Array[], a: number, b: number): boolean {
  for (let k = 0; k < columns.length; k++) if (columns[k]![a] !== columns[k]![b]) return false;
  return true;
}

function frontsOf(columns: readonly Float64Array[]): Fronts {
  const [, y, z] = columns;
  if (y === undefined) return lines();
  if (z === undefined) return lasts(y);
  return columns.length === 3 ? stairs(y, z) : members(columns);
}

/** One objective: whatever comes later is worse. */
function lines(): Fronts {
  let count = 0;
  return { count: () => count, covers: () => true, add: () => void count++ };
}

/** Two objectives: of a front the last member is the best in the second one. */
function lasts(y: Float64Array): Fronts {
  const best: number[] = [];
  return {
    count: () => best.length,
    covers: (front, row) => best[front]! <= y[row]!,
    add: (front, row) => void (best[front] = y[row]!),
  };
}

/** Three objectives: of a front counts what of it nothing covers in the last two. */
function stairs(y: Float64Array, z: Float64Array): Fronts {
  // Ascending in y and descending in z.
  const fronts: { ys: number[]; zs: number[] }[] = [];
  return {
    count: () => fronts.length,
    covers(front, row) {
      const { ys, zs } = fronts[front]!;
      const at = firstAbove(ys, y[row]!);
      return at > 0 && zs[at - 1]! <= z[row]!;
    },
    add(front, row) {
      const { ys, zs } = fronts[front] ??= { ys: [], zs: [] };
      const from = firstAbove(ys, y[row]!);
      let to = from;
      while (to < zs.length && zs[to]! >= z[row]!) to++;
      if (to - from === 1) {
        ys[from] = y[row]!;
        zs[from] = z[row]!;
        return;
      }
      ys.splice(from, to - from, y[row]!);
      zs.splice(from, to - from, z[row]!);
    },
  };
}

/** Index of the first of ascending values that is greater. */
export function firstAbove(
  values: ArrayLike<number>,
  value: number,
  count = values.length,
): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** More objectives: each member is compared with, the latest, which are nearest, first. */
function members(columns: readonly Float64Array[]): Fronts {
  const fronts: number[][] = [];
  const width = columns.length;
  return {
    count: () => fronts.length,
    covers(front, row) {
      const rows = fronts[front]!;
      for (let at = rows.length - 1; at >= 0; at--) {
        const member = rows[at]!;
        let k = 1; // the first column is nowhere larger
        while (k < width && columns[k]![member]! <= columns[k]![row]!) k++;
        if (k === width) return true;
      }
      return false;
    },
    add: (front, row) => void (fronts[front] ??= []).push(row),
  };
}
