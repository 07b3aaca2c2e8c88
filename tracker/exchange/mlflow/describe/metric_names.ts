import {
  isDecisive,
  isDistance,
  isShare,
  type Measurement,
  type NamedBenchmarks,
  scaleOf,
} from "../../../../core/mod.ts";
import type { Metric } from "../client/log_batch.ts";

/** A benchmark's figure. */
export interface Score {
  readonly value: number;
  readonly metric: string;
  readonly direction: "maximize" | "minimize";
}

/** Share of the baseline's score that a benchmark without a limit of its own must keep. */
const RETENTION = 0.95;

/**
 * Whole tasks' scores on one rung by task: the first metric of each, others as `task_metric`. How far
 * answers are from the original's is no score, of which a share could be kept.
 */
export function measuredScores(
  measurements: readonly Measurement[],
  fidelity: string,
): Map<string, Score> {
  const scores = new Map<string, Score>();
  for (const { task, slice, metric, value, direction, ...row } of measurements) {
    if (task === null || slice !== null || row.fidelity !== fidelity) continue;
    if (isDistance(metric)) continue;
    const first = scores.get(task);
    const name = first === undefined || first.metric === metric ? task : `${task}_${metric}`;
    scores.set(name, { value, metric, direction });
  }
  return scores;
}

/**
 * The key of a measurement: `[rung/][task/][slice/]metric[/runtime]`: the rung where it is not
 * the last one, such as proxy, the runtime where it is not the study's.
 */
export function measurementKey(row: Measurement, runtime: string | null): string {
  const parts = [
    isDecisive(row.fidelity) ? null : row.fidelity,
    row.task,
    row.slice,
    row.metric,
    row.runtime === null || row.runtime === runtime ? null : row.runtime,
  ];
  return parts.filter((part) => part !== null && part !== "").join("/");
}

/** A measurement as points: its value, standard error and samples. */
export function measurementPoints(
  row: Measurement,
  runtime: string | null,
  timestamp: number,
): Metric[] {
  const key = measurementKey(row, runtime);
  const point = (name: string, value: number): Metric => ({ key: name, value, timestamp, step: 0 });
  return [
    point(key, row.value),
    ...(row.standard_error === null ? [] : [point(`${key}_standard_error`, row.standard_error)]),
    point(`${key}_n`, row.n),
  ];
}

/** What is kept of the baseline's score: 1 is all of it, above 1 is better than it. */
export function retention(score: Score, baseline: Score): number {
  return score.direction === "maximize"
    ? score.value / baseline.value
    : baseline.value / score.value;
}

/**
 * What is lost of it, on the metric's own scale: of a share what is not kept, of a metric with relative
 * differences (perplexity) the rise over the baseline, as everywhere else.
 */
function degradation(score: Score, baseline: Score): number {
  const scale = scaleOf(score.metric);
  return scale.relative
    ? scale.between(score.value, baseline.value)
    : 1 - retention(score, baseline);
}

/** Whether a benchmark kept enough: by the study's limit where it scores from 0 to 1, else 95 % of the baseline. */
function keptEnough(score: Score, baseline: Score, max_accuracy_drop: number): boolean {
  return isShare(score.metric)
    ? baseline.value - score.value <= max_accuracy_drop + 1e-12
    : retention(score, baseline) >= RETENTION;
}

/** The baseline's scores under the names of a staged benchmark: `baseline/core/{benchmark}`. */
export function baselineFigures(scores: ReadonlyMap<string, Score>): Record<string, number> {
  return Object.fromEntries(
    [...scores].map(([task, { value }]) => [`baseline/core/${task}`, value]),
  );
}

/** The baseline's mean scores under the names that its kind of run has for groups of benchmarks. */
export function groupFigures(
  groups: NamedBenchmarks["groups"],
  scores: ReadonlyMap<string, Score>,
): Record<string, number> {
  return Object.fromEntries(groups.flatMap(({ name, tasks }) => {
    const known = tasks.flatMap((task) => scores.get(task)?.value ?? []);
    if (known.length === 0) return [];
    return [[`baseline/${name}`, known.reduce((sum, value) => sum + value, 0) / known.length]];
  }));
}

/**
 * A stage's figures under the names of a staged benchmark: `{stage}/core/{benchmark}`,
 * `{stage}/retention/{benchmark}`, `{stage}/degradation/…`, `{stage}/passed/…` (1 or 0), and the
 * sums `overall_passed` and `num_failed`.
 */
export function stageFigures(stage: string, { scores, baseline, max_accuracy_drop }: {
  scores: ReadonlyMap<string, Score>;
  baseline: ReadonlyMap<string, Score>;
  max_accuracy_drop: number;
}): Record<string, number> {
  const figures: Record<string, number> = {};
  let failed = 0;
  for (const [task, score] of scores) {
    figures[`${stage}/${task}`] = score.value;
    figures[`${stage}/core/${task}`] = score.value;
    const reference = baseline.get(task);
    if (reference === undefined) continue;
    const kept = retention(score, reference);
    const passed = keptEnough(score, reference, max_accuracy_drop);
    figures[`${stage}/retention/${task}`] = kept;
    figures[`${stage}/degradation/${task}`] = degradation(score, reference);
    figures[`${stage}/passed/${task}`] = passed ? 1 : 0;
    if (!passed) failed += 1;
  }
  if (scores.size === 0) return figures;
  return {
    ...figures,
    [`${stage}/overall_passed`]: failed === 0 ? 1 : 0,
    [`${stage}/num_failed`]: failed,
    [`${stage}/num_failed_benchmarks`]: failed,
  };
}
