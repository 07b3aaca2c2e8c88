import { expectedBelow, normalCdf, normalPdf } from "../../evidence/numerics/normal.ts";
import type { Prediction } from "./gaussian_process.ts";

/** The part of the space of objectives that a front leaves open, as boxes that do not overlap. */
export interface OpenBoxes {
  readonly objectives: number;
  readonly count: number;
  /** The values at which boxes begin and end, by objective. */
  readonly edges: readonly Float64Array[];
  /** Indices of `edges`, box after box; -1 of a lower end: it has none. */
  readonly lower: Int32Array;
  readonly upper: Int32Array;
}

interface Box {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/**
 * Boxes that fill what no member of the front covers before the reference, all to be minimised. Slab by
 * slab along the last objective; boxes that go on into the next slab stay one.
 */
function boxesOf(front: readonly (readonly number[])[], reference: readonly number[]): Box[] {
  const last = reference.length - 1;
  if (last === 0) {
    const high = front.reduce((least, [value]) => Math.min(least, value!), reference[0]!);
    return [{ low: [-Infinity], high: [high] }];
  }
  const inside = front.filter((row) => row.every((value, k) => value < reference[k]!))
    .sort((a, b) => a[last]! - b[last]!);
  const base = reference.slice(0, last);
  let open = new Map<string, { box: Box; from: number }>();
  const closed: Box[] = [];
  const close = ({ box, from }: { box: Box; from: number }, to: number) =>
    closed.push({ low: [...box.low, from], high: [...box.high, to] });
  const floors = [-Infinity, ...inside.map((row) => row[last]!)];
  floors.forEach((floor, i) => {
    if ((floors[i + 1] ?? reference[last]!) === floor) return; // a slab of no thickness
    const next = new Map<string, { box: Box; from: number }>();
    for (const box of boxesOf(inside.slice(0, i).map((row) => row.slice(0, last)), base)) {
      const key = `${box.low.join()};${box.high.join()}`;
      next.set(key, open.get(key) ?? { box, from: floor });
    }
    for (const [key, one] of open) if (!next.has(key)) close(one, floor);
    open = next;
  });
  for (const one of open.values()) close(one, reference[last]!);
  return closed;
}

/** The boxes that a front leaves open, with their ends told by index. */
export function openBoxes(
  front: readonly (readonly number[])[],
  reference: readonly number[],
): OpenBoxes {
  const boxes = boxesOf(front, reference);
  const objectives = reference.length;
  const edges = reference.map((_, m) => {
    const values = boxes.flatMap(({ low, high }) => [low[m]!, high[m]!]).filter(Number.isFinite);
    return Float64Array.from(new Set(values)).sort();
  });
  const places = edges.map((values) => new Map([...values].map((value, i) => [value, i])));
  const index = (end: "low" | "high") =>
    Int32Array.from(boxes.flatMap((box) => box[end].map((v, m) => places[m]!.get(v) ?? -1)));
  return { objectives, count: boxes.length, edges, lower: index("low"), upper: index("high") };
}

/** An expected improvement with its slopes by each objective's mean and deviation. */
export interface Improvement {
  readonly value: number;
  readonly byMean: Float64Array;
  readonly byDeviation: Float64Array;
}

/**
 * The hypervolume that a point with independent normal objectives adds to the front, on average: exact,
 * as a box' part of it is a product of one-dimensional improvements (Yang, Emmerich, Deutz, Bäck
 * 2019). Any number of objectives.
 */
export function expectedImprovement(
  { objectives, count, edges, lower, upper }: OpenBoxes,
  predictions: readonly Prediction[],
): number {
  const gains = predictions.map(({ mean, deviation }, m) =>
    edges[m]!.map((edge) => expectedBelow(edge, mean, deviation))
  );
  let total = 0;
  for (let box = 0, at = 0; box < count; box++, at += objectives) {
    let product = 1;
    for (let m = 0; m < objectives && product > 0; m++) {
      const from = lower[at + m]!;
      product *= gains[m]![upper[at + m]!]! - (from < 0 ? 0 : gains[m]![from]!);
    }
    total += Math.max(0, product);
  }
  return total;
}

/** The same with slopes. */
export function slopingImprovement(
  { objectives, count, edges, lower, upper }: OpenBoxes,
  predictions: readonly Prediction[],
): Improvement {
  const units = predictions.map(({ mean, deviation }, m) =>
    edges[m]!.map((edge) => (edge - mean) / deviation)
  );
  const gains = predictions.map(({ mean, deviation }, m) =>
    edges[m]!.map((edge) => expectedBelow(edge, mean, deviation))
  );
  const chances = units.map((some) => some.map(normalCdf));
  const heights = units.map((some) => some.map(normalPdf));
  const parts = new Float64Array(objectives);
  const byMean = new Float64Array(objectives);
  const byDeviation = new Float64Array(objectives);
  let value = 0;
  for (let box = 0, at = 0; box < count; box++, at += objectives) {
    let product = 1;
    for (let m = 0; m < objectives; m++) {
      const from = lower[at + m]!;
      parts[m] = Math.max(0, gains[m]![upper[at + m]!]! - (from < 0 ? 0 : gains[m]![from]!));
      product *= parts[m]!;
    }
    if (product <= 0) continue;
    value += product;
    for (let m = 0; m < objectives; m++) {
      const [from, to] = [lower[at + m]!, upper[at + m]!];
      const rest = product / parts[m]!;
      byMean[m]! -= rest * (chances[m]![to]! - (from < 0 ? 0 : chances[m]![from]!));
      byDeviation[m]! += rest * (heights[m]![to]! - (from < 0 ? 0 : heights[m]![from]!));
    }
  }
  return { value, byMean, byDeviation };
}
