import { type Direction, firstAbove, minimisedColumns, type Point } from "./pareto.ts";
import { lexicographicOrder, sortedOrder, taken } from "./sorted_order.ts";

/** Points as columns, one an objective, all to be minimised. */
type Columns = readonly Float64Array[];

/** The corner with every objective to be minimised. */
function cornerOf(reference: Point, directions: readonly Direction[]): number[] {
  return minimisedColumns([reference], directions).map((column) => column[0]!);
}

/** The points before the corner in every objective. */
function inside(columns: Columns, corner: Point): Columns {
  const count = columns[0]?.length ?? 0;
  const beyond = new Uint8Array(count);
  columns.forEach((column, k) => {
    const edge = corner[k]!;
    for (let row = 0; row < count; row++) if (column[row]! >= edge) beyond[row] = 1;
  });
  if (!beyond.includes(1)) return columns;
  const kept = Uint32Array.from(beyond.keys()).filter((row) => beyond[row] === 0);
  return columns.map((column) => taken(column, kept));
}

/**
 * The volume between the points and the reference that at least one point dominates. A point on or
 * beyond the reference adds nothing; no points, no volume. Sweeps in two and three dimensions,
 * slicing with exclusive volumes (WFG) above.
 */
export function hypervolume(
  points: readonly Point[],
  reference: Point,
  directions: readonly Direction[],
): number {
  const corner = cornerOf(reference, directions);
  return volume(inside(minimisedColumns(points, directions), corner), corner);
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
  const corner = cornerOf(reference, directions);
  const columns = minimisedColumns([...points, ...beside], directions);
  // In the order of the sweep: what follows finds its rows sorted.
  const order = sortedOrder(columns.at(-1) ?? new Float64Array(0));
  const within = order.filter((row) => columns.every((column, k) => column[row]! < corner[k]!));
  const rows = within.length === order.length && order.every((row, i) => row === i)
    ? columns
    : columns.map((column) => taken(column, within));
  const lost = points.map(() => 0);
  within.forEach((row, i) => {
    if (row < points.length) lost[row] = exclusive(rows, i, corner);
  });
  return lost;
}

/** The part of the box from a row to the corner that no other row reaches. */
function exclusive(rows: Columns, own: number, corner: Point): number {
  const count = rows[0]!.length;
  let box = 1;
  const shared = rows.map((column, k) => {
    box *= corner[k]! - column[own]!;
    const limited = new Float64Array(count - 1);
    for (let i = 0, to = 0; i < count; i++) {
      if (i !== own) limited[to++] = Math.max(column[i]!, column[own]!);
    }
    return limited;
  });
  for (let i = 0; i < count - 1; i++) {
    let k = 0;
    while (k < shared.length && shared[k]![i] === rows[k]![own]) k++;
    if (k === shared.length) return 0; // another one covers it
  }
  return Math.max(0, box - volume(shared, corner));
}

/** The rows nothing covers, one of each set of duplicates. */
function undominated(columns: Columns): Columns {
  const width = columns.length;
  const order = lexicographicOrder(columns);
  const kept = new Uint32Array(order.length);
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const row = order[i]!;
    let member = count - 1;
    for (; member >= 0; member--) {
      const other = kept[member]!;
      let k = 1; // the first column is nowhere larger
      while (k < width && columns[k]![other]! <= columns[k]![row]!) k++;
      if (k === width) break;
    }
    if (member < 0) kept[count++] = row;
  }
  return columns.map((column) => taken(column, kept.subarray(0, count)));
}

/** The volume of one or two rows: their boxes, less what both have. */
function boxes(columns: Columns, corner: Point): number {
  let first = 1;
  let second = 1;
  let both = 1;
  for (let k = 0; k < corner.length; k++) {
    const column = columns[k]!;
    const a = column[0]!;
    const b = column[column.length - 1]!;
    first *= corner[k]! - a;
    second *= corner[k]! - b;
    both *= corner[k]! - Math.max(a, b);
  }
  return first + second - both;
}

/** The volume of rows before the corner; dominated ones may be among them. */
function volume(columns: Columns, corner: Point): number {
  const [x, y, z] = columns;
  if (x === undefined || x.length === 0) return 0;
  if (x.length < 3) return boxes(columns, corner);
  if (y === undefined) return corner[0]! - x.reduce((least, one) => Math.min(least, one));
  if (z === undefined) return area(x, y, corner);
  return columns.length === 3 ? sweep(x, y, z, corner) : sliced(undominated(columns), corner);
}

/** Two dimensions: left to right, each step of the staircase adds a rectangle. */
function area(x: Float64Array, y: Float64Array, corner: Point): number {
  const right = corner[0]!;
  let total = 0;
  let height = corner[1]!;
  for (const row of sortedOrder(x)) {
    if (y[row]! >= height) continue;
    total += (right - x[row]!) * (height - y[row]!);
    height = y[row]!;
  }
  return total;
}

/**
 * Three dimensions: bottom to top, the covered area times the thickness of each layer. The area's
 * staircase, from left to right and downwards, is kept in order, so that each row costs a search and
 * what it adds.
 */
function sweep(x: Float64Array, y: Float64Array, z: Float64Array, corner: Point): number {
  const [right, top, end] = corner as [number, number, number];
  const xs = new Float64Array(x.length);
  const ys = new Float64Array(x.length);
  let steps = 0;
  let covered = 0;
  let total = 0;
  let reached = 0;
  for (const row of sortedOrder(z)) {
    if (covered > 0) total += covered * (z[row]! - reached);
    reached = z[row]!;
    const left = x[row]!;
    const low = y[row]!;
    const at = firstAbove(xs, left, steps);
    let height = at === 0 ? top : ys[at - 1]!;
    if (height <= low) continue;
    // Above the steps that the point takes the place of, then up to the one that it leaves.
    let next = at;
    let from = left;
    for (; next < steps && ys[next]! >= low; next++) {
      covered += (xs[next]! - from) * (height - low);
      from = xs[next]!;
      height = ys[next]!;
    }
    covered += ((next < steps ? xs[next]! : right) - from) * (height - low);
    if (next !== at + 1) {
      xs.copyWithin(at + 1, next, steps);
      ys.copyWithin(at + 1, next, steps);
      steps += at + 1 - next;
    }
    xs[at] = left;
    ys[at] = low;
  }
  return total + covered * (end - reached);
}

/**
 * More dimensions: worst last coordinate first, so that every later point reaches as far along it
 * and the part that a point adds alone is a volume of one dimension less.
 */
function sliced(columns: Columns, corner: Point): number {
  const last = corner.length - 1;
  const base = corner.slice(0, last);
  const order = sortedOrder(columns[last]!).reverse();
  const rows = columns.map((column) => taken(column, order));
  const count = order.length;
  let total = 0;
  for (let i = 0; i < count; i++) {
    let own = 1;
    const limited = base.map((edge, k) => {
      const column = rows[k]!;
      const floor = column[i]!;
      own *= edge - floor;
      const values = new Float64Array(count - i - 1);
      for (let at = 0; at < values.length; at++) values[at] = Math.max(floor, column[i + 1 + at]!);
      return values;
    });
    total += (own - volume(limited, base)) * (corner[last]! - rows[last]![i]!);
  }
  return total;
}
