import { mean, Z95 } from "./statistics.ts";

/** A sample whose answer was generated and scored by both. */
export interface Scored {
  /** Score of the original less the trial's: positive is worse. */
  readonly difference: number;
  /** What is known of every sample, such as the likelihood of the original's own answer under the
   * trial, less that under the original. */
  readonly predictor: number;
}

/** A benchmark of which some samples are scored, and a predictor is known of all. */
export interface PartlyScored {
  /** Drawn at random from all. */
  readonly scored: readonly Scored[];
  /** Of the samples that are not scored. */
  readonly others: readonly number[];
}

/** A mean drop over the whole benchmark, with what it was estimated from. */
export interface PoweredEstimate {
  /** Mean difference over all samples of the benchmark. */
  readonly drop: number;
  readonly standard_error: number;
  /** 95 %. */
  readonly interval: readonly [number, number];
  /** Scored samples, and all. */
  readonly n: number;
  readonly population: number;
  /** How much the regression counts; 0: the plain mean. */
  readonly lambda: number;
  /** Correlation of the difference with what the predictor predicts, over folds that did not see it. */
  readonly rho: number;
  /** Why the predictor was not used; null: it was. */
  readonly fallback: string | null;
}

/** Below this correlation the predictor narrows by less than a twentieth, and may only add noise. */
export const LEAST_RHO = 0.3;
/** With fewer unscored samples than so many times the scored ones, scoring them is better. */
const LEAST_RATIO = 3;
/** Right-or-wrong scores that turned: with fewer, neither the slope nor the error can be trusted. */
const LEAST_TURNED = 20;

const FOLDS = 5;

/** The line of the differences over the predictors, by least squares. */
function line(scored: readonly Scored[]): (predictor: number) => number {
  const [x, y] = [
    mean(scored.map((one) => one.predictor)),
    mean(scored.map((one) => one.difference)),
  ];
  let [both, squares] = [0, 0];
  for (const { predictor, difference } of scored) {
    both += (predictor - x) * (difference - y);
    squares += (predictor - x) ** 2;
  }
  const slope = squares > 0 ? both / squares : 0;
  return (predictor) => y + slope * (predictor - x);
}

function covariance(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [mean(a), mean(b)];
  return a.reduce((sum, x, i) => sum + (x - meanA) * (b[i]! - meanB), 0) / (a.length - 1);
}

/** Predictions of each scored sample by lines that did not see it, and of every other by their mean. */
function crossFitted(
  { scored, others }: PartlyScored,
): { own: number[]; unscored: number[] } {
  const lines = Array.from(
    { length: FOLDS },
    (_, fold) => line(scored.filter((_, i) => i % FOLDS !== fold)),
  );
  return {
    own: scored.map(({ predictor }, i) => lines[i % FOLDS]!(predictor)),
    unscored: others.map((predictor) => mean(lines.map((predict) => predict(predictor)))),
  };
}

function whyNot({ scored, others }: PartlyScored, rho: number): string | null {
  const n = scored.length;
  if (others.length < LEAST_RATIO * n) {
    return `${others.length} samples are not scored, fewer than ${LEAST_RATIO} times the ${n} that are`;
  }
  const plain = scored.every(({ difference }) => [-1, 0, 1].includes(difference));
  const turned = scored.filter(({ difference }) => difference !== 0).length;
  if (plain && turned < LEAST_TURNED) {
    return `${turned} of the scored answers turned, fewer than ${LEAST_TURNED}`;
  }
  if (!(rho >= LEAST_RHO)) {
    return `the correlation of likelihood and score is ${rho.toFixed(2)}, below ${LEAST_RHO}`;
  }
  return null;
}

/**
 * The mean drop over a whole benchmark from few scored samples and a predictor of all (Angelopoulos et al.,
 * prediction-powered inference, arXiv 2301.09633 and 2311.01453), in the form for a finite benchmark:
 * f is the difference that a line through the predictor predicts, fitted in five folds that do not see the
 * sample; its mean over the benchmark is known, so that
 *
 *     θ = λ·mean_all(f) + mean_scored(d − λ f),   λ = cov(d, f) / var(f) from 0 to 1,
 *     se² = (1 − n/N) · var_scored(d − λ f) / n.
 *
 * Falls back to the plain mean, λ = 0, and says why, where the predictor does not help. The scored samples
 * must be drawn at random: of those chosen by difficulty nothing of this holds. Null below ten of
 * them.
 */
export function predictionPowered(benchmark: PartlyScored): PoweredEstimate | null {
  const { scored, others } = benchmark;
  const n = scored.length;
  if (n < 2 * FOLDS) return null;
  const population = n + others.length;
  const differences = scored.map(({ difference }) => difference);
  const { own, unscored } = crossFitted(benchmark);
  const spread = covariance(own, own);
  const together = covariance(differences, own);
  const ofDifferences = covariance(differences, differences);
  const rho = spread > 0 && ofDifferences > 0 ? together / Math.sqrt(spread * ofDifferences) : 0;
  const fallback = whyNot(benchmark, rho);
  const lambda = fallback === null ? Math.max(0, Math.min(1, together / spread)) : 0;
  const left = differences.map((difference, i) => difference - lambda * own[i]!);
  const known = (own.reduce((sum, f) => sum + f, 0) + unscored.reduce((sum, f) => sum + f, 0)) /
    population;
  const drop = lambda * known + mean(left);
  const standard_error = Math.sqrt((1 - n / population) * covariance(left, left) / n);
  return {
    drop,
    standard_error,
    interval: [drop - Z95 * standard_error, drop + Z95 * standard_error],
    n,
    population,
    lambda,
    rho,
    fallback,
  };
}
