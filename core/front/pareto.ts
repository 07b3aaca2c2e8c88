/** Whether more or less of an objective is better. */
export type Direction = "maximize" | "minimize";

/** One row of objective values, in the order of the directions. */
export type Point = readonly number[];

/** The points with every objective to be minimised; NaN is refused. */
export function minimised(points: readonly Point[], directions: readonly Direction[]): number[][] {
  return points.map((point, row) => {
    if (point.length !== directions.length) {
      throw new RangeError(
        `Cannot compare points as each needs ${directions.length} objectives: ` +
          `point ${row} has ${point.length}`,
      );
    }
    return point.map((value, column) => {
      if (Number.isNaN(value)) {
        throw new RangeError(
          `Cannot compare points as objective ${column} of point ${row} is not a number`,
        );
      }
      return directions[column] === "maximize" ? -value : value;
    });
  });
}

/** Whether `a` is nowhere worse than `b`; both minimised. Equal points cover each other. */
export function covers(a: Point, b: Point): boolean {
  return a.every((value, i) => value <= b[i]!);
}

function compareRows(a: Point, b: Point): number {
  for (let i = 0; i < a.length; i++) {
    if (a[i]! !== b[i]!) return a[i]! < b[i]! ? -1 : 1;
  }
  return 0;
}

/**
 * Indices of the points that nothing beats, in the order given. Duplicates are all kept: equal
 * points do not beat each other.
 */
export function paretoFront(
  points: readonly Point[],
  directions: readonly Direction[],
): number[] {
  const ranks = paretoRanks(points, directions);
  return ranks.flatMap((rank, i) => rank === 0 ? [i] : []);
}

/**
 * The front each point belongs to, from 0: front 1 is what remains undominated without front 0,
 * and so on. Duplicates share a rank. (Efficient non-dominated sort with binary search)
 */
export function paretoRanks(
  points: readonly Point[],
  directions: readonly Direction[],
): number[] {
  const rows = minimised(points, directions);
  const order = rows.map((_, i) => i).sort((i, j) => compareRows(rows[i]!, rows[j]!));
  const ranks = new Array<number>(rows.length).fill(0);
  const fronts: number[][][] = [];
  order.forEach((index, position) => {
    const row = rows[index]!;
    const before = order[position - 1];
    if (before !== undefined && compareRows(rows[before]!, row) === 0) {
      ranks[index] = ranks[before]!;
      return;
    }
    const rank = firstFrontWithout(fronts, row);
    ranks[index] = rank;
    (fronts[rank] ??= []).push(row);
  });
  return ranks;
}

/** First front with no member that covers `row`; fronts before it all have one. */
function firstFrontWithout(fronts: readonly number[][][], row: Point): number {
  let low = 0;
  let high = fronts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fronts[middle]!.some((member) => covers(member, row))) low = middle + 1;
    else high = middle;
  }
  return low;
}
