/** How steps grow while a slope keeps its sign, and shrink where it turns. */
const GROWTH = 1.2;
const SHRINKAGE = 0.5;

/** What is climbed: the value at a place, with its slopes written to the second argument. */
export type Hill = (place: Float64Array, slopes: Float64Array) => number;

/** Where and how an ascent goes. */
export interface Ascent {
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly step: number;
  readonly largest: number;
  readonly iterations: number;
  /** Steps all below this end it. */
  readonly smallest: number;
}

/**
 * The highest place that signs of slopes lead to within bounds (iRprop-, Igel and Hüsken 2003): no line
 * search, so one look at the hill an iteration. Places without a number are left by half a step.
 */
export function climb(hill: Hill, start: Float64Array, ascent: Ascent): Float64Array {
  const { low, high, largest, iterations, smallest } = ascent;
  const size = start.length;
  const place = Float64Array.from(start);
  const steps = new Float64Array(size).fill(ascent.step);
  const before = new Float64Array(size);
  const slopes = new Float64Array(size);
  let [best, highest] = [Float64Array.from(start), -Infinity];
  for (let iteration = 0; iteration < iterations; iteration++) {
    const value = hill(place, slopes);
    if (value > highest) [best, highest] = [Float64Array.from(place), value];
    if (!Number.isFinite(value)) {
      if (highest === -Infinity) break;
      place.set(best);
      for (let i = 0; i < size; i++) steps[i]! *= SHRINKAGE;
      before.fill(0);
      continue;
    }
    let moved = 0;
    for (let i = 0; i < size; i++) {
      const turn = slopes[i]! * before[i]!;
      if (turn > 0) steps[i] = Math.min(largest, steps[i]! * GROWTH);
      else if (turn < 0) steps[i]! *= SHRINKAGE;
      before[i] = turn < 0 ? 0 : slopes[i]!;
      const next = place[i]! + Math.sign(before[i]!) * steps[i]!;
      const bounded = Math.min(high[i]!, Math.max(low[i]!, next));
      moved = Math.max(moved, Math.abs(bounded - place[i]!), turn < 0 ? steps[i]! : 0);
      place[i] = bounded;
    }
    if (moved < smallest) break;
  }
  return best;
}
