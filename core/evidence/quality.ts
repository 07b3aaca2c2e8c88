import type { Evaluation } from "../ports.ts";
import type { Measurement, SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { mean, pairBySample, pairedInterval, samplesToDecide, Z95 } from "./statistics.ts";

export type QualityMetric = "accuracy" | "perplexity";

/** What quality a study compares: perplexity where that is its first objective, else accuracy. */
export function qualityMetric(spec: Spec): QualityMetric {
  return spec.objectives[0]?.metric === "perplexity" ? "perplexity" : "accuracy";
}

/** Names of the tasks that count for the primary quality. */
function primaryTasks(spec: Spec): string[] {
  return spec.tasks.filter((plan) => plan.primary).map((plan) => plan.task);
}

/** The latest row of a metric of one task; `task` null: over all primary tasks. */
export function qualityRow(
  measurements: readonly Measurement[],
  metric: string,
  fidelity: "proxy" | "full",
  task: string | null = null,
): Measurement | undefined {
  return measurements.findLast((row) =>
    row.metric === metric && row.fidelity === fidelity && row.task === task && row.slice === null
  );
}

/**
 * Adds the figures over all primary tasks (`task` null): accuracy as the unweighted mean, with
 * its standard error; perplexity as the geometric mean. A metric no primary task reports adds
 * nothing.
 */
export function withAggregates(evaluation: Evaluation, spec: Spec): Evaluation {
  const aggregates = (["accuracy", "perplexity"] as const).flatMap((metric) => {
    const rows = primaryTasks(spec).flatMap((task) =>
      evaluation.measurements.filter((row) =>
        row.metric === metric && row.task === task && row.slice === null
      ).slice(-1)
    );
    return rows.length === 0 ? [] : [aggregate(metric, rows)];
  });
  return { ...evaluation, measurements: [...evaluation.measurements, ...aggregates] };
}

function aggregate(metric: QualityMetric, rows: readonly Measurement[]): Measurement {
  const value = metric === "accuracy"
    ? mean(rows.map((row) => row.value))
    : Math.exp(mean(rows.map((row) => Math.log(row.value))));
  // The error of a logarithm is the relative error, so both means are sums of squares over k.
  const errors = rows.map((row) =>
    row.standard_error === null
      ? null
      : row.standard_error / (metric === "accuracy" ? 1 : row.value)
  );
  const known = errors.filter((error) => error !== null);
  const error = Math.sqrt(known.reduce((sum, e) => sum + e * e, 0)) / rows.length;
  const worst = ["estimated", "emulated"] as const;
  return {
    ...rows[0]!,
    value,
    n: rows.reduce((sum, row) => sum + row.n, 0),
    standard_error: known.length < errors.length
      ? null
      : error * (metric === "accuracy" ? 1 : value),
    provenance: worst.find((kind) => rows.some((row) => row.provenance === kind)) ?? "measured",
    task: null,
    task_version: null,
    method: `unweighted ${metric === "accuracy" ? "" : "geometric "}mean of ${rows.length} task${
      rows.length === 1 ? "" : "s"
    }`,
  };
}

/** How far a trial's quality lies below the baseline's on the same samples. */
export interface QualityComparison {
  readonly metric: QualityMetric;
  readonly fidelity: "proxy" | "full";
  readonly n: number;
  /** Accuracy: baseline − trial, absolute. Perplexity: relative rise. Larger is worse. */
  readonly drop: number;
  /** 95 %, from the paired samples; null where there are too few. */
  readonly interval: [number, number] | null;
  /** Samples that would decide against this threshold; null where none would. */
  samplesToDecide(threshold: number): number | null;
}

/**
 * Why two evaluations may not be compared; null where they may. Where one comes from a store that
 * kept no protocol (it is empty), the samples' hashes alone decide.
 */
export function protocolMismatch(reference: Evaluation, other: Evaluation): string | null {
  const known = [reference, other].every(({ protocol }) => Object.keys(protocol).length > 0);
  const tasks = new Set(
    known ? [...Object.keys(reference.protocol), ...Object.keys(other.protocol)] : [],
  );
  for (const task of [...tasks].sort()) {
    const [left, right] = [reference.protocol[task], other.protocol[task]];
    if (left !== right) {
      return `Cannot compare ${task} with the baseline as the protocols differ: the baseline's is ` +
        `${left ?? "missing"}, the trial's ${right ?? "missing"}`;
    }
  }
  for (const task of new Set(reference.samples.map((sample) => sample.task))) {
    const { unmatched } = pairBySample(ofTask(reference, task), ofTask(other, task));
    if (unmatched > 0) {
      return `Cannot compare ${task} with the baseline as the samples differ: ${unmatched} have no ` +
        "partner";
    }
  }
  return null;
}

function ofTask(evaluation: Evaluation, task: string): SampleResult[] {
  return evaluation.samples.filter((sample) => sample.task === task);
}

/**
 * The paired comparison over the primary tasks: their unweighted mean, the tasks' variances added.
 * Null where the study's quality was not measured. The scores of a perplexity task are a window's
 * mean negative log-likelihood of a token, so that a mean difference is the log of a ratio.
 */
export function compareQuality(
  spec: Spec,
  fidelity: "proxy" | "full",
  reference: Evaluation,
  other: Evaluation,
): QualityComparison | null {
  const metric = qualityMetric(spec);
  const tasks = primaryTasks(spec).filter((task) =>
    other.measurements.some((row) => row.metric === metric && row.task === task)
  );
  const paired = tasks.map((task) =>
    pairBySample(ofTask(reference, task), ofTask(other, task)).pairs
  ).filter((pairs) => pairs.length > 0);
  if (paired.length === 0) return null;
  // Worse is larger: accuracy falls, a negative log-likelihood rises.
  const sign = metric === "accuracy" ? -1 : 1;
  const scale = metric === "accuracy" ? (x: number) => x : Math.expm1;
  const unscale = metric === "accuracy" ? (x: number) => x : Math.log1p;
  const drop = sign * mean(paired.map((pairs) => mean(pairs.map((p) => p.score - p.reference))));
  const n = paired.reduce((sum, pairs) => sum + pairs.length, 0);
  const intervals = paired.map((pairs) => pairedInterval(pairs));
  const known = intervals.filter((interval) => interval !== null);
  const complete = known.length === paired.length;
  const centre = sign * mean(known.map((interval) => interval.centre));
  const half = Math.sqrt(known.reduce((sum, i) => sum + i.half_width ** 2, 0)) / paired.length;
  return {
    metric,
    fidelity,
    n,
    drop: scale(drop),
    interval: complete ? [scale(centre - half), scale(centre + half)] : null,
    samplesToDecide(threshold) {
      if (!complete) return null;
      const samples = samplesToDecide(drop, unscale(threshold), half * Math.sqrt(n) / Z95);
      return samples === null ? null : Math.max(n + 1, samples);
    },
  };
}
