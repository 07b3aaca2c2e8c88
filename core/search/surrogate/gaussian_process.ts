import { cholesky, inverseOf, times } from "../../evidence/numerics/cholesky.ts";
import type { Features } from "./features.ts";
import { fitScales, type Scales, varianceOf } from "./fit_scales.ts";
import { matern, maternSlope, pairDistances } from "./kernel.ts";

/** What a model says of a place. */
export interface Prediction {
  readonly mean: number;
  readonly deviation: number;
}

/** A prediction with its slopes along some coordinates. */
export interface SlopingPrediction extends Prediction {
  readonly meanSlopes: Float64Array;
  readonly deviationSlopes: Float64Array;
}

/** A model of one number over a space. */
export interface Model {
  /** The deviation where nothing is measured. */
  readonly spread: number;
  predict(row: Float64Array): Prediction;
  slope(row: Float64Array, coordinates: readonly number[]): SlopingPrediction;
}

/** Rows that the lengths are fitted to: a fit costs their number to the third, dozens of times. */
const FITTED = 48;
const JITTER = 1e-8;

/** Rows with the values there. `variances`: of the values' errors; absent: exact. */
export interface Data {
  readonly rows: readonly Float64Array[];
  readonly values: readonly number[];
  readonly variances?: readonly number[];
  /** How much the values' scale is stretched at each, against the one that models are compared on. */
  readonly stretches?: readonly number[];
}

/** Up to `count` of n indices: all, or evenly spaced ones. */
function spread(n: number, count: number): number[] {
  return n <= count
    ? Array.from({ length: n }, (_, i) => i)
    : Array.from({ length: count }, (_, i) => Math.floor((i * n) / count));
}

/** Values with mean 0 and variance 1, and the way back. */
function standardised(values: readonly number[]) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  const deviation = variance > 1e-24 * (1 + mean * mean) ? Math.sqrt(variance) : 1;
  return { mean, deviation, units: values.map((value) => (value - mean) / deviation) };
}

/** Scales with the standardised values that they were fitted to. */
interface Fitted extends ReturnType<typeof standardised> {
  readonly data: Data;
  readonly variances: Float64Array;
  readonly scales: Scales;
  /** Logarithm of the density of the values as they were before they were stretched. */
  readonly evidence: number;
}

/** Scales for each of several ways to see the same rows. */
function fittedOf({ groupOf, groups }: Features, ways: readonly Data[]): Fitted[] {
  const { rows } = ways[0]!;
  const chosen = spread(rows.length, FITTED);
  const distances = pairDistances(chosen.map((i) => rows[i]!), groupOf, groups);
  return ways.map((data) => {
    const standard = standardised(data.values);
    const { units, deviation } = standard;
    const variances = Float64Array.from(
      rows,
      (_, i) => (data.variances?.[i] ?? 0) / deviation ** 2,
    );
    const values = Float64Array.from(chosen, (i) => units[i]!);
    const own = Float64Array.from(chosen, (i) => variances[i]!);
    const scales = fitScales({ distances, groups, values, variances: own });
    const stretches = chosen.reduce((sum, i) => sum + Math.log(data.stretches?.[i] ?? 1), 0);
    const evidence = scales.density - chosen.length * Math.log(deviation) + stretches;
    return { ...standard, data, variances, scales, evidence };
  });
}

/**
 * A Gaussian process with a Matérn 5/2 kernel and a length for each dimension (Rasmussen and Williams
 * 2006, ch. 2 and 5), of the way to see the values that explains them best. Rows in an order in which
 * every part is like the whole, as lengths are fitted to some of them; O(n³) once, O(n²) a prediction.
 */
export function fitBest(
  features: Features,
  ways: readonly Data[],
): { readonly model: Model; readonly way: number } {
  const fitted = fittedOf(features, ways);
  const best = fitted.reduce((a, b) => b.evidence > a.evidence ? b : a);
  return { model: processOf(features, best), way: fitted.indexOf(best) };
}

/** The same where there is one way. */
export function fitProcess(features: Features, data: Data): Model {
  return fitBest(features, [data]).model;
}

function processOf({ groupOf, width }: Features, fitted: Fitted): Model {
  const { data, mean, deviation, units, variances, scales } = fitted;
  const n = data.rows.length;
  const stretch = Float64Array.from(groupOf, (group) => Math.sqrt(scales.weights[group]!));
  const stretched = new Float64Array(n * width);
  data.rows.forEach((row, i) => {
    for (let k = 0; k < width; k++) stretched[i * width + k] = row[k]! * stretch[k]!;
  });
  const squaredTo = (place: Float64Array, i: number) => {
    let squared = 0;
    for (let k = 0, at = i * width; k < width; k++, at++) {
      const apart = place[k]! - stretched[at]!;
      squared += apart * apart;
    }
    return squared;
  };
  const inverse = inverseWith(
    n,
    variances,
    scales.noise,
    (i, j) => matern(squaredTo(stretched.subarray(i * width, (i + 1) * width), j)),
  );
  const alpha = times(inverse, Float64Array.from(units), n);
  const variance = varianceOf(units.reduce((sum, unit, i) => sum + unit * alpha[i]!, 0), n);
  const near = new Float64Array(n);
  const squares = new Float64Array(n);
  /** Measures the way from a place to all rows; what is expected there, in standard units. */
  const look = (place: Float64Array) => {
    let expected = 0;
    for (let i = 0; i < n; i++) {
      const squared = squares[i] = squaredTo(place, i);
      expected += (near[i] = matern(squared)) * alpha[i]!;
    }
    return mean + deviation * expected;
  };
  const spreadOf = deviation * Math.sqrt(variance);
  return {
    spread: spreadOf,
    predict(row) {
      const expected = look(row.map((value, k) => value * stretch[k]!));
      return { mean: expected, deviation: spreadOf * unsureOf(inverse, near, n) };
    },
    slope(row, coordinates) {
      const place = row.map((value, k) => value * stretch[k]!);
      const expected = look(place);
      const unsure = unsureOf(inverse, near, n);
      const beta = times(inverse, near, n);
      const meanSlopes = new Float64Array(coordinates.length);
      const deviationSlopes = new Float64Array(coordinates.length);
      for (let i = 0; i < n; i++) {
        const slope = 2 * maternSlope(squares[i]!);
        const [towards, away] = [slope * alpha[i]!, -slope * beta[i]! / unsure];
        coordinates.forEach((k, c) => {
          const apart = (place[k]! - stretched[i * width + k]!) * stretch[k]!;
          meanSlopes[c]! += towards * apart * deviation;
          deviationSlopes[c]! += away * apart * spreadOf;
        });
      }
      return {
        mean: expected,
        deviation: spreadOf * unsure,
        meanSlopes,
        deviationSlopes,
      };
    },
  };
}

/** How much is unknown where rows are so near: from 0 to 1, the root of what they leave of a variance. */
function unsureOf(inverse: Float64Array, near: Float64Array, n: number): number {
  let told = 0;
  for (let i = 0; i < n; i++) {
    const row = i * n;
    let half = 0;
    for (let j = 0; j < i; j++) half += inverse[row + j]! * near[j]!;
    told += near[i]! * (2 * half + inverse[row + i]! * near[i]!);
  }
  return Math.sqrt(Math.max(1e-10, 1 - told));
}

/** The inverse of the matrix of likenesses, with as much noise more as it needs to have one. */
function inverseWith(
  n: number,
  variances: Float64Array,
  noise: number,
  likeness: (i: number, j: number) => number,
): Float64Array {
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) matrix[i * n + j] = likeness(i, j);
  }
  for (let more = JITTER;; more *= 10) {
    for (let i = 0; i < n; i++) matrix[i * n + i] = 1 + noise + more + variances[i]!;
    const lower = cholesky(matrix, n);
    if (lower !== null) return inverseOf(lower, n);
  }
}
