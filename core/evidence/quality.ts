import { isQualityMetric, isShare } from "../metrics/metric_table.ts";
import { scaleOf } from "../metrics/scale.ts";
import type { Evaluation } from "../ports.ts";
import type { Measurement, SampleResult } from "../schemas/measurement.ts";
import type { Spec, TaskPlan } from "../schemas/spec.ts";
import { chanceOf, meanChance } from "./retention.ts";
import { samplesToDecide } from "./samples_needed.ts";
import { pairBySample, pairedDifference, pairedInterval, Z95 } from "./statistics.ts";
import {
  type OrderedTask,
  type PairedSequence,
  pairedSequence,
  sampleKey,
  sampleOrder,
  samplesUntilDecided,
} from "./sequence/paired_sequence.ts";
import { weightedMean } from "./strata.ts";

/**
 * The figure over all tasks of a study: `accuracy` is the mean of all that their tasks score from 0
 * to 1, more being better, by whatever metric (accuracy, F1, exact match); no mean is taken of a
 * figure of another scale, but for perplexity.
 */
export type QualityMetric = "accuracy" | "perplexity";

/**
 * What quality a study compares: perplexity where that is its objective, else accuracy. Where the front
 * is of the distance to the original alone, what its primary tasks report.
 */
export function qualityMetric(
  { objectives, tasks = [] }: Pick<Spec, "objectives"> & Partial<Pick<Spec, "tasks">>,
): QualityMetric {
  const named = objectives.find(({ metric }) => isQualityMetric(metric))?.metric ??
    tasks.find(({ primary }) => primary)?.metric;
  return named === "perplexity" ? "perplexity" : "accuracy";
}

/** The figure over all tasks that a task's metric counts for; null: for none. */
export function overTasks(metric: string): QualityMetric | null {
  if (isShare(metric)) return "accuracy";
  return metric === "perplexity" ? metric : null;
}

/** The tasks that count for the primary quality. */
function primaryTasks(spec: Spec): TaskPlan[] {
  return spec.tasks.filter((plan) => plan.primary);
}

/** Each primary task whose own figure counts for a figure over all tasks, with that row. */
export function countedTasks(
  measurements: readonly Measurement[],
  spec: Spec,
  metric: QualityMetric,
): { plan: TaskPlan; row: Measurement }[] {
  return primaryTasks(spec).flatMap((plan) => {
    const row = ownRow(measurements, plan);
    return row === undefined || overTasks(row.metric) !== metric ? [] : [{ plan, row }];
  });
}

/** The latest row of a metric of one task; `task` null: over all primary tasks. */
export function qualityRow(
  measurements: readonly Measurement[],
  metric: string,
  fidelity: string,
  task: string | null = null,
): Measurement | undefined {
  return measurements.findLast((row) =>
    row.metric === metric && row.fidelity === fidelity && row.task === task && row.slice === null
  );
}

/**
 * The latest figure that a task's samples are scored by; other metrics of it stand beside. A study
 * that did not keep its tasks' metrics knew accuracy and perplexity alone.
 */
export function ownRow(
  measurements: readonly Measurement[],
  { task, metric }: Pick<TaskPlan, "task" | "metric">,
): Measurement | undefined {
  return measurements.findLast((row) =>
    row.task === task && row.slice === null &&
    (metric === undefined
      ? row.metric === "accuracy" || row.metric === "perplexity"
      : row.metric === metric)
  );
}

/**
 * Adds the figures over all primary tasks (`task` null): accuracy as the mean, each task with its
 * weight (1 unless a user or a benchmark set says otherwise), with its standard error; perplexity
 * as the geometric mean. A metric no primary task reports adds nothing.
 */
export function withAggregates(evaluation: Evaluation, spec: Spec): Evaluation {
  const aggregates = (["accuracy", "perplexity"] as const).flatMap((metric) => {
    const rows = countedTasks(evaluation.measurements, spec, metric)
      .map(({ row, plan: { weight = 1 } }) => ({ row, weight }));
    return rows.length === 0 ? [] : [aggregate(metric, rows, spec)];
  });
  return { ...evaluation, measurements: [...evaluation.measurements, ...aggregates] };
}

/** A task's figure and how much it counts. */
interface Weighted {
  readonly row: Measurement;
  readonly weight: number;
}

/** Of independent parts' errors: √(Σ (weight·error)²) / Σ weight. */
function weightedError(parts: readonly { value: number; weight: number }[]): number {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  return Math.hypot(...parts.map(({ value, weight }) => weight * value)) / total;
}

function aggregateMethod(metric: QualityMetric, parts: readonly Weighted[]): string {
  const geometric = metric === "accuracy" ? "" : "geometric ";
  const count = `${parts.length} task${parts.length === 1 ? "" : "s"}`;
  const other = parts.some(({ row }) => row.metric !== metric);
  const metrics = other
    ? `; scores from 0 to 1: ${parts.map(({ row }) => `${row.metric} of ${row.task}`).join(", ")}`
    : "";
  if (parts.every(({ weight }) => weight === parts[0]!.weight)) {
    return `unweighted ${geometric}mean of ${count}${metrics}`;
  }
  const weights = parts.map(({ row, weight }) => `${row.task} ${weight}`).join(", ");
  return `weighted ${geometric}mean of ${count}: ${weights}${metrics}`;
}

function aggregate(metric: QualityMetric, parts: readonly Weighted[], spec: Spec): Measurement {
  const rows = parts.map(({ row }) => row);
  const arithmetic = metric === "accuracy";
  const scale = scaleOf(metric);
  const value = scale.figure(
    weightedMean(parts.map(({ row, weight }) => ({ value: scale.mean(row.value), weight }))),
  );
  // The error of a logarithm is the relative error, so both means add squares.
  const errors = parts.flatMap(({ row, weight }) =>
    row.standard_error === null
      ? []
      : [{ value: row.standard_error / (arithmetic ? 1 : row.value), weight }]
  );
  const worst = ["estimated", "emulated"] as const;
  const chances = parts.map(({ row, weight }) => ({ chance: chanceOf(row, spec), weight }));
  const { chance: _, ...first } = rows[0]!;
  return {
    ...first,
    ...(arithmetic ? { chance: meanChance(chances) } : {}),
    metric,
    value,
    n: rows.reduce((sum, row) => sum + row.n, 0),
    standard_error: errors.length < rows.length
      ? null
      : weightedError(errors) * (arithmetic ? 1 : value),
    provenance: worst.find((kind) => rows.some((row) => row.provenance === kind)) ?? "measured",
    task: null,
    task_version: null,
    method: aggregateMethod(metric, parts),
  };
}

/** How far a trial's quality lies below the baseline's on the same samples. */
export interface QualityComparison {
  readonly metric: QualityMetric;
  readonly fidelity: string;
  readonly n: number;
  /** Accuracy: baseline − trial, absolute. Perplexity: relative rise. Larger is worse. */
  readonly drop: number;
  /** 95 %, from the paired samples; null where there are too few. */
  readonly interval: [number, number] | null;
  /** The same batch by batch, which may be looked at; null: nothing bounds a difference. */
  readonly sequence: PairedSequence | null;
  /** Samples that would decide against this threshold; null where none would. */
  samplesToDecide(threshold: number): number | null;
}

/** The samples of one task. */
export function ofTask(evaluation: Pick<Evaluation, "samples">, task: string): SampleResult[] {
  return evaluation.samples.filter((sample) => sample.task === task);
}

/**
 * The paired comparison over the primary tasks: their weighted mean, the tasks' variances added.
 * Null where the study's quality was not measured. The scores of a perplexity task are a window's
 * mean negative log-likelihood of a token, so that a mean difference is the log of a ratio. `original`: all
 * samples that the original answered, by which verdicts are sooner; absent: they go by scores alone.
 */
export function compareQuality(
  spec: Spec,
  fidelity: string,
  reference: Evaluation,
  other: Evaluation,
  original?: Pick<Evaluation, "samples">,
): QualityComparison | null {
  const metric = qualityMetric(spec);
  const paired = countedTasks(other.measurements, spec, metric).map((
    { plan: { task, weight = 1 } },
  ) => ({
    pairs: pairBySample(ofTask(reference, task), ofTask(other, task)).pairs,
    weight,
  })).filter(({ pairs }) => pairs.length > 0);
  if (paired.length === 0) return null;
  // Worse is larger: accuracy falls, a negative log-likelihood rises.
  const sign = metric === "accuracy" ? -1 : 1;
  const scale = scaleOf(metric);
  const drop = sign * weightedMean(paired.map(({ pairs, weight }) => ({
    value: pairedDifference(pairs).mean,
    weight,
  })));
  const n = paired.reduce((sum, { pairs }) => sum + pairs.length, 0);
  const known = paired.flatMap(({ pairs, weight }) => {
    const interval = pairedInterval(pairs);
    return interval === null ? [] : [{ interval, weight }];
  });
  const complete = known.length === paired.length;
  const sequence = metric === "accuracy" ? sequenceOf(spec, reference, other, original) : null;
  const centre = sign * weightedMean(known.map(({ interval, weight }) => ({
    value: interval.centre,
    weight,
  })));
  const half = weightedError(known.map(({ interval, weight }) => ({
    value: interval.half_width,
    weight,
  })));
  return {
    metric,
    fidelity,
    n,
    drop: scale.difference(drop),
    interval: complete ? [scale.difference(centre - half), scale.difference(centre + half)] : null,
    sequence,
    samplesToDecide(threshold) {
      if (sequence !== null) return samplesUntilDecided(sequence, drop, threshold);
      if (!complete) return null;
      const samples = samplesToDecide(
        drop,
        scale.meanDifference(threshold),
        half * Math.sqrt(n) / Z95,
      );
      return samples === null ? null : Math.max(n + 1, samples);
    },
  };
}

/** The tasks of the quality that both have, in the order in which samples are taken. */
function sequenceOf(
  spec: Spec,
  reference: Evaluation,
  other: Evaluation,
  original: Pick<Evaluation, "samples"> | undefined,
): PairedSequence | null {
  const counted = countedTasks(other.measurements, spec, "accuracy");
  const tasks = counted.map(({ plan }) => orderedTask(spec, plan, reference, original));
  const scores = new Map(other.samples.map((sample) => [sampleKey(sample), sample.score]));
  return pairedSequence(sampleOrder(tasks), scores);
}

/** A task to be ordered; what the original answered of it beside where the study goes by that. */
export function orderedTask(
  { predictor }: Pick<Spec, "predictor">,
  plan: TaskPlan,
  reference: Pick<Evaluation, "samples">,
  original: Pick<Evaluation, "samples"> | undefined,
): OrderedTask {
  const samples = ofTask(reference, plan.task);
  return predictor === undefined || original === undefined
    ? { plan, samples }
    : { plan, samples, original: ofTask(original, plan.task) };
}
