import { overTasks, ownRow } from "../../../evidence/quality.ts";
import { chanceOf } from "../../../evidence/retention.ts";
import { pairBySample } from "../../../evidence/statistics.ts";
import { meanAndErrorOf } from "../../../evidence/strata.ts";
import type { Evaluation } from "../../../ports.ts";
import type { Spec } from "../../../schemas/spec.ts";
import { type PairedRetention, pairedRetention, widening } from "./retention_interval.ts";
import { Z95 } from "../../../evidence/statistics.ts";

/** Evaluations on one rung that a stage is judged by. */
export interface Judged {
  readonly spec: Spec;
  readonly reference: Evaluation;
  readonly own: Evaluation;
  /** The reference on the rung of most samples; absent: not known. */
  readonly most?: Evaluation | undefined;
  /** Looks that are taken at most: the rungs of the study. */
  readonly looks: number;
}

/** A benchmark that the document names and this study cannot judge by. */
export interface NotJudged {
  readonly benchmark: string;
  readonly reason: string;
}

/** Why a benchmark of the document has no retention in this study; null: it has one. */
export function cannotJudge(spec: Spec, benchmark: string): string | null {
  const plan = spec.tasks.find(({ task }) => task === benchmark);
  if (plan === undefined) {
    return spec.missing_tasks.find(({ task }) => task === benchmark)?.reason ??
      "no benchmark of that name is in this study";
  }
  if (overTasks(plan.metric ?? "accuracy") !== "accuracy") {
    return `it reports ${plan.metric}, which is no share of right answers`;
  }
  return null;
}

/** Retention on one benchmark; null: it is not in the evaluations. */
export function retentionOn(judged: Judged, benchmark: string): PairedRetention | null {
  const { spec, reference, own, looks } = judged;
  const plan = spec.tasks.find(({ task }) => task === benchmark);
  const row = plan === undefined ? undefined : ownRow(own.measurements, plan);
  if (row === undefined || cannotJudge(spec, benchmark) !== null) return null;
  const of = (evaluation: Evaluation) =>
    evaluation.samples.filter(({ task }) => task === benchmark);
  const { pairs } = pairBySample(of(reference), of(own));
  if (pairs.length === 0) return null;
  return pairedRetention(pairs, chanceOf(row, spec) ?? 0, looks);
}

/** Whether the reference is surely above guessing on the most samples that there are. */
export function tellsWithMore(judged: Judged, benchmark: string): boolean {
  const { most } = judged;
  if (most === undefined) return false;
  return retentionOn({ ...judged, reference: most, own: most }, benchmark)?.value != null;
}

/** A mean score with its interval. */
export interface Score {
  readonly value: number;
  readonly interval: [number, number];
  readonly n: number;
}

/** The mean score over benchmarks of one evaluation; null: none of them is in it. */
export function scoreOn(
  evaluation: Evaluation,
  benchmarks: readonly string[],
  looks: number,
): Score | null {
  const parts = benchmarks.flatMap((benchmark) => {
    const own = evaluation.samples.filter(({ task }) => task === benchmark);
    if (own.length === 0) return [];
    const { mean, standard_error } = meanAndErrorOf(own.map(({ score }) => score), own);
    const least = 1 / (own.length + 1) / Math.sqrt(own.length);
    return [{ n: own.length, mean, error: Math.max(standard_error ?? 0.5, least) }];
  });
  if (parts.length === 0) return null;
  const value = parts.reduce((sum, { mean }) => sum + mean, 0) / parts.length;
  const half = Z95 * widening(looks) * Math.hypot(...parts.map(({ error }) => error)) /
    parts.length;
  return {
    value,
    interval: [value - half, value + half],
    n: parts.reduce((sum, { n }) => sum + n, 0),
  };
}
