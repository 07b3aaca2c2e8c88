import {
  type Drawn,
  meanAndErrorOf,
  pairBySample,
  pairedDifference,
  type SampleResult,
  scaleOf,
  type ScoreRow,
  Z95,
} from "../../../core/mod.ts";

/** A figure over samples with its 95 % interval; null: of one sample. */
export interface Figure {
  readonly value: number;
  readonly interval: readonly [number, number] | null;
  readonly n: number;
}

/** What scoring answers again came to, beside what they had scored before. */
export interface ScoreDifference {
  readonly now: Figure;
  /** Null: they had not been scored by this metric. */
  readonly earlier: Figure | null;
  /** Now less earlier, paired by sample: a share of the earlier where the metric is a logarithm. */
  readonly difference: Figure | null;
  /** Samples whose score is another one now. */
  readonly changed: readonly string[] | null;
}

/** Scores that differ in the last bits of a sum are the same. */
const SAME = 1e-9;

/** A score with the sample that it is of. */
export type Scored = Pick<SampleResult, "sample_id" | "sample_hash" | "score"> & Drawn;

function figureOf(metric: string, scores: readonly Scored[]): Figure {
  const { figure } = scaleOf(metric);
  const { mean, standard_error } = meanAndErrorOf(scores.map(({ score }) => score), scores);
  const half = standard_error === null ? null : Z95 * standard_error;
  return {
    value: figure(mean),
    interval: half === null ? null : [figure(mean - half), figure(mean + half)],
    n: scores.length,
  };
}

/** The rows of a metric that have a score, with what their samples were drawn by. */
export function scoredRows(
  rows: readonly ScoreRow[],
  metric: string,
  samples: readonly SampleResult[],
): Scored[] {
  const drawn = new Map(samples.map((one) => [one.sample_hash, one]));
  return rows.flatMap(({ sample_id, sample_hash, score, ...row }) => {
    if (row.metric !== metric || score === null) return [];
    const { stratum, stratum_rows } = drawn.get(sample_hash) ?? {};
    return [{ sample_id, sample_hash, score, stratum, stratum_rows }];
  });
}

/** Scores by a metric beside earlier ones of the same answers; those may have left samples out. */
export function scoreDifference(
  metric: string,
  now: readonly Scored[],
  earlier: readonly Scored[] | null,
): ScoreDifference {
  const own = figureOf(metric, now);
  if (earlier === null) return { now: own, earlier: null, difference: null, changed: null };
  const before = figureOf(metric, earlier);
  const { pairs } = pairBySample(earlier as SampleResult[], now as SampleResult[]); // scores alone
  const scale = scaleOf(metric);
  const { n, mean, standard_error } = pairedDifference(pairs);
  const half = standard_error === null ? null : Z95 * standard_error;
  const difference = n === 0 ? null : {
    value: scale.difference(mean),
    interval: half === null
      ? null
      : [scale.difference(mean - half), scale.difference(mean + half)] as const,
    n,
  };
  const ids = new Map(now.map((one) => [one.sample_hash, one.sample_id]));
  const changed = pairs.filter(({ reference, score }) =>
    Math.abs(score - reference) > SAME * Math.max(1, Math.abs(reference)) ||
    Number.isNaN(score) !== Number.isNaN(reference)
  ).map(({ sample_hash }) => ids.get(sample_hash)!);
  return { now: own, earlier: before, difference, changed };
}
