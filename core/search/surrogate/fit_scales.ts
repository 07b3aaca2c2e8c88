import { climb } from "./ascent.ts";
import { cholesky, inverseOf, logDeterminant, times } from "../../evidence/numerics/cholesky.ts";
import { matern, maternSlope } from "./kernel.ts";

/** How fast a function changes along each group, as 1 / length², and how noisy its values are. */
export interface Scales {
  readonly weights: Float64Array;
  /** Variance of the noise as a share of the function's. */
  readonly noise: number;
  /** Logarithm of the posterior density, up to a constant: of two models of as many values, which is likelier. */
  readonly density: number;
}

/** Bounds of the logarithms: lengths from 0.05 to 150 of a range. */
const WEIGHTS = { low: Math.log(1 / 150 ** 2), high: Math.log(1 / 0.05 ** 2) };
const NOISE = { low: Math.log(1e-6), high: Math.log(0.3), usual: Math.log(1e-4), spread: 2 };
/** Spread of the logarithm of a length before any data (Hvarfner, Hellsten, Nardi 2024, eq. 7). */
const SPREAD = Math.sqrt(3);
const ITERATIONS = 30;
/** Values' worth of belief that the function varies as much as its values do. */
const BELIEF = 2;

/** The function's variance, from the values' squared length in its own measure: 1 before any data. */
export function varianceOf(squared: number, n: number): number {
  return (Math.max(0, squared) + BELIEF) / (n + BELIEF);
}

/** What a fit looks at: distances of pairs as `pairDistances` gives them, values of mean 0. */
export interface Sample {
  readonly distances: Float64Array;
  readonly groups: number;
  readonly values: Float64Array;
  /** Variances known of the single values; they come on top of the fitted noise. */
  readonly variances: Float64Array;
}

/** The logarithm of the usual weight: lengths grow with the root of the number of dimensions. */
function usualWeight(groups: number): number {
  return -2 * (Math.SQRT2 + Math.log(groups) / 2) + 2;
}

/**
 * The scales that explain values best: maximum a posteriori of a Gaussian process whose variance is
 * integrated out.
 */
export function fitScales(sample: Sample): Scales {
  const { groups } = sample;
  const usual = usualWeight(groups);
  const start = new Float64Array(groups + 1).fill(usual);
  const low = new Float64Array(groups + 1).fill(WEIGHTS.low);
  const high = new Float64Array(groups + 1).fill(WEIGHTS.high);
  [start[groups], low[groups], high[groups]] = [NOISE.usual, NOISE.low, NOISE.high];
  const best = climb((place, slopes) => posterior(sample, usual, place, slopes), start, {
    low,
    high,
    step: 0.4,
    largest: 1.5,
    iterations: ITERATIONS,
    smallest: 0.02,
  });
  return {
    weights: best.slice(0, groups).map(Math.exp),
    noise: Math.exp(best[groups]!),
    density: posterior(sample, usual, best, new Float64Array(groups + 1)),
  };
}

/** Logarithm of the posterior density of the scales' logarithms, up to a constant. */
function posterior(
  { distances, groups, values, variances }: Sample,
  usual: number,
  place: Float64Array,
  slopes: Float64Array,
): number {
  const n = values.length;
  const weights = place.slice(0, groups).map(Math.exp);
  const noise = Math.exp(place[groups]!);
  const matrix = new Float64Array(n * n);
  const squares = new Float64Array((n * (n - 1)) / 2);
  for (let i = 0, at = 0; i < n; i++) {
    matrix[i * n + i] = 1 + noise + variances[i]!;
    for (let j = 0; j < i; j++, at++) {
      let squared = 0;
      for (let k = 0; k < groups; k++) squared += weights[k]! * distances[at * groups + k]!;
      squares[at] = squared;
      matrix[i * n + j] = matern(squared);
    }
  }
  const lower = cholesky(matrix, n);
  if (lower === null) return -Infinity;
  const inverse = inverseOf(lower, n);
  const alpha = times(inverse, values, n);
  const scale = varianceOf(values.reduce((sum, value, i) => sum + value * alpha[i]!, 0), n);
  slopes.fill(0);
  for (let i = 1, at = 0; i < n; i++) {
    for (let j = 0; j < i; j++, at++) {
      const pull = alpha[i]! * alpha[j]! / scale - inverse[i * n + j]!;
      const slope = pull * maternSlope(squares[at]!);
      for (let k = 0; k < groups; k++) slopes[k]! += slope * distances[at * groups + k]!;
    }
  }
  let density = -0.5 * ((n + BELIEF) * Math.log(scale) + logDeterminant(lower, n));
  for (let k = 0; k < groups; k++) {
    slopes[k]! *= weights[k]!;
    const off = (place[k]! - usual) / (2 * SPREAD); // of a length: a weight's logarithm is -2 times its
    density -= off * off / 2;
    slopes[k]! -= off / (2 * SPREAD);
  }
  let pull = 0;
  for (let i = 0; i < n; i++) pull += alpha[i]! ** 2 / scale - inverse[i * n + i]!;
  const off = (place[groups]! - NOISE.usual) / NOISE.spread;
  slopes[groups] = 0.5 * noise * pull - off / NOISE.spread;
  return density - off * off / 2;
}
