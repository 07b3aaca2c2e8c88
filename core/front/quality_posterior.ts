import { cholesky, inverseOf, logDeterminant, times } from "../evidence/numerics/cholesky.ts";
import { normal } from "../random.ts";

/** What trials measured, and what the samples leave open of it. */
export interface Measured {
  /** Quality of each trial, on the scale of its samples' means. */
  readonly values: readonly number[];
  /** What else each trial is compared by, such as the logarithm of its bytes: trials near in it are alike. */
  readonly places: readonly (readonly number[])[];
  /** Draws of the measuring's error, a row of all trials each. */
  readonly errors: readonly (readonly number[])[];
}

/** What may be known of qualities before any is measured: standard deviations, in units of the scores. */
interface Scales {
  /** By which trials of one place differ. */
  readonly own: number;
  /** By which the trend along the places moves, and over which share of their range. */
  readonly trend: number;
  readonly length: number;
}

/** A prior with its weight after what was measured. */
interface Weighed {
  readonly weight: number;
  /** Lower triangle of the prior's covariance. */
  readonly lower: Float64Array;
  /** What a difference from the measured values moves the true ones by, n². */
  readonly gain: Float64Array;
}

const OWN = [0.002, 0.006, 0.015, 0.04, 0.1] as const;
const TREND = [0.02, 0.07, 0.25, 1] as const;
const LENGTH = [0.2, 0.7] as const;
/**
 * No trend is followed closer than this share of it: without it trials behind a knee in size were said to
 * be on the front with 0.81 where 0.51 were.
 */
const OFF_TREND = 0.1;
/** The level that all share, which decides nothing: any. */
const LEVEL = 1;
const LEAST_WEIGHT = 1e-3;

const SCALES: readonly Scales[] = OWN.flatMap((own) => [
  { own, trend: 0, length: 1 },
  ...TREND.flatMap((trend) => LENGTH.map((length) => ({ own, trend, length }))),
]);

/** A small trend is the likelier one: twenty trials alone tell it from none badly. */
function logPrior({ trend }: Scales): number {
  return trend === 0 ? 0 : 0.5 * Math.log(0.01 / trend);
}

/**
 * What the true qualities may be: each call draws one of all trials, by a Gaussian process over their
 * places whose scales are averaged over by how well they explain what was measured. A measured front
 * is a choice of the luckiest: among near ties the values are drawn together as far as the errors explain
 * their spread, and where quality follows size a trial out of line is held for partly luck. Draws are
 * conditioned by Matheron's rule (a draw of the prior, and of the errors, moved by the measured values), so
 * that the errors keep their own distribution. Null: there is nothing to learn from.
 */
export function qualityPosterior(
  measured: Measured,
  random: () => number,
): (() => number[]) | null {
  const { errors } = measured;
  const n = measured.values.length;
  if (n < LEAST_TRIALS || errors.length < 2) return null;
  const centre = measured.values.reduce((sum, one) => sum + one, 0) / n;
  const values = Float64Array.from(measured.values, (one) => one - centre);
  const priors = weighedPriors(values, measured);
  if (priors.length === 0) return null;
  let at = 0;
  return () => {
    const { lower, gain } = drawn(priors, random);
    const error = errors[at++ % errors.length]!;
    const truth = times(lower, Float64Array.from({ length: n }, () => normal(random)), n);
    const moved = times(gain, truth.map((one, i) => values[i]! - one - error[i]!), n);
    return [...truth].map((one, i) => centre + one + moved[i]!);
  };
}

/** So many are compared with each other before what they have in common says anything. */
const LEAST_TRIALS = 4;

function drawn(priors: readonly Weighed[], random: () => number): Weighed {
  let left = random() * priors.reduce((sum, { weight }) => sum + weight, 0);
  return priors.find(({ weight }) => (left -= weight) < 0) ?? priors.at(-1)!;
}

/** `centred`: the measured values round their mean. */
function weighedPriors(centred: Float64Array, measured: Measured): Weighed[] {
  const n = centred.length;
  const noise = covarianceOf(measured.errors, n);
  const squares = squaredDistances(measured.places);
  const fitted = SCALES.flatMap((scales) => {
    const prior = priorOf(scales, squares, n);
    const total = cholesky(prior.map((one, i) => one + noise[i]!), n);
    if (total === null) return [];
    const inverse = inverseOf(total, n);
    const solved = times(inverse, centred, n);
    const fit = centred.reduce((sum, one, i) => sum + one * solved[i]!, 0);
    return [{ prior, inverse, log: logPrior(scales) - 0.5 * (fit + logDeterminant(total, n)) }];
  });
  const best = Math.max(...fitted.map(({ log }) => log));
  const sum = fitted.reduce((total, { log }) => total + Math.exp(log - best), 0);
  return fitted.flatMap(({ prior, inverse, log }) => {
    const weight = Math.exp(log - best) / sum;
    const lower = weight < LEAST_WEIGHT ? null : cholesky(prior, n);
    return lower === null ? [] : [{ weight, lower, gain: product(prior, inverse, n) }];
  });
}

/** Covariance of trials in a row, n² numbers. */
function priorOf({ own, trend, length }: Scales, squares: Float64Array, n: number): Float64Array {
  const alone = own ** 2 + (OFF_TREND * trend) ** 2;
  return squares.map((squared, i) =>
    LEVEL + trend ** 2 * Math.exp(-squared / (2 * length ** 2)) + (i % (n + 1) === 0 ? alone : 0)
  );
}

/** Of the places, each coordinate in units of its range. */
function squaredDistances(places: readonly (readonly number[])[]): Float64Array {
  const n = places.length;
  const squares = new Float64Array(n * n);
  for (let c = 0; c < places[0]!.length; c++) {
    const column = places.map((place) => place[c]!);
    const range = Math.max(...column) - Math.min(...column);
    if (!(range > 0) || !Number.isFinite(range)) continue;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) squares[i * n + j]! += ((column[i]! - column[j]!) / range) ** 2;
    }
  }
  return squares;
}

function covarianceOf(errors: readonly (readonly number[])[], n: number): Float64Array {
  const covariance = new Float64Array(n * n);
  for (const error of errors) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) covariance[i * n + j]! += error[i]! * error[j]! / errors.length;
    }
  }
  return covariance;
}

function product(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const made = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const one = a[i * n + k]!;
      for (let j = 0; j < n; j++) made[i * n + j]! += one * b[k * n + j]!;
    }
  }
  return made;
}
