import { metricOf } from "./metric_table.ts";

/**
 * How the scores of samples become the metric that they are named by, and in what two figures of it
 * differ: the one rule for every surface. A metric says in the table whether its samples are scored by
 * its logarithm (perplexity: a window's mean negative log-likelihood); then a mean of scores is raised
 * to the metric's own figure, and a difference is relative, as a mean difference of logarithms is a ratio.
 */
export interface Scale {
  /** A difference is a share of the reference's figure; else it is in the metric's own unit. */
  readonly relative: boolean;
  /** The figure of a mean of samples' scores. */
  readonly figure: (mean: number) => number;
  /** The other way round. */
  readonly mean: (figure: number) => number;
  /** The metric's difference by a mean difference of samples' scores. */
  readonly difference: (mean: number) => number;
  /** The other way round. */
  readonly meanDifference: (difference: number) => number;
  /** The difference of two figures. */
  readonly between: (figure: number, reference: number) => number;
}

const same = (value: number) => value;

const PLAIN: Scale = {
  relative: false,
  figure: same,
  mean: same,
  difference: same,
  meanDifference: same,
  between: (figure, reference) => figure - reference,
};

const LOGARITHM: Scale = {
  relative: true,
  figure: Math.exp,
  mean: Math.log,
  difference: Math.expm1,
  meanDifference: Math.log1p,
  between: (figure, reference) => figure / reference - 1,
};

/** The scale of a metric; one that no table knows is scored as it is called. */
export function scaleOf(metric: string): Scale {
  return metricOf(metric)?.samples === "logarithm" ? LOGARITHM : PLAIN;
}
