import { metricOf } from "../metrics/metric_table.ts";
import { goalLimit } from "../metrics/metric_words.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Goal, Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { type QualityComparison, qualityMetric, qualityRow } from "./quality.ts";
import { judgeTaken, sequenceInterval } from "./sequence/verdict.ts";
import { SLACK } from "./slack.ts";
import { Z95 } from "./statistics.ts";

/** A goal as it is written: `latency_ms=+30%`. */
export function goalText({ on, amount, percent }: Goal): string {
  const size = Number((percent ? 100 * amount : amount).toPrecision(9));
  return `${on}=${size < 0 ? "" : "+"}${size}${percent ? "%" : ""}`;
}

/** The most that a figure may get worse by a goal, of a baseline that is `baseline`; below 0: it must get better. */
export function mostWorse({ amount, percent }: Goal, baseline: number): number {
  return percent ? -amount * Math.abs(baseline) : -amount;
}

/** How much worse a figure became than the baseline's, with its standard error, in its own unit; null: unknown. */
function worseBy(
  metric: string,
  baseline: readonly Measurement[],
  measurements: readonly Measurement[],
  runtime: string,
): { value: number; error: number | null; baseline: number } | null {
  const declared = metricOf(metric);
  const sign = declared?.direction === "maximize" ? -1 : 1;
  const of = (rows: readonly Measurement[], name: string) =>
    rows.findLast((row) =>
      row.metric === name && row.provenance === "measured" && row.task === null &&
      (row.runtime === null || row.runtime === runtime)
    );
  const before = of(baseline, metric);
  if (before === undefined || !Number.isFinite(before.value)) return null;
  // Measured in turn with the baseline where that was done: other minutes of a machine are another machine.
  const turned = declared?.reciprocal_of === undefined
    ? undefined
    : metricOf(declared.reciprocal_of);
  const paired = turned?.ratio ?? declared?.ratio;
  const ratio = paired === undefined ? undefined : of(measurements, paired);
  if (ratio !== undefined && Number.isFinite(ratio.value)) {
    const scale = Math.abs(before.value);
    const times = turned === undefined ? ratio.value : 1 / ratio.value;
    const slope = turned === undefined ? 1 : times ** 2;
    const error = ratio.standard_error === null ? null : ratio.standard_error * slope * scale;
    return { value: sign * (times - 1) * scale, error, baseline: before.value };
  }
  const after = of(measurements, metric);
  if (after === undefined || !Number.isFinite(after.value)) return null;
  const errors = [before, after].map(({ standard_error }) => standard_error);
  const error = errors.every((one) => one === null)
    ? null
    : Math.hypot(...errors.map((one) => one ?? 0));
  return { value: sign * (after.value - before.value), error, baseline: before.value };
}

function verdictOf(low: number, high: number, most: number): ConstraintVerdict["verdict"] {
  if (high <= most + SLACK) return "met";
  return low > most + SLACK ? "violated" : "undecided";
}

/** The goal on the study's quality: by the paired samples, as its limit is. */
function qualityGoal(
  goal: Goal,
  baseline: readonly Measurement[],
  quality: QualityComparison | null,
): Omit<ConstraintVerdict, "constraint"> | null {
  if (quality === null) return null;
  const before = qualityRow(baseline, quality.metric, quality.fidelity)?.value;
  if (before === undefined || !Number.isFinite(before)) return null;
  const worse = mostWorse(goal, before);
  // A rise of perplexity is told as a share already.
  const threshold = quality.metric === "perplexity" ? worse / before : worse;
  const { sequence } = quality;
  const looked = sequence !== null && sequence.n > 0
    ? { sequence, ...judgeTaken(sequence.drawn, threshold) }
    : null;
  const verdict = looked?.verdict ??
    (quality.interval === null ? "undecided" : verdictOf(...quality.interval, threshold));
  const undecided = verdict === "undecided";
  const samples_to_decide = undecided ? quality.samplesToDecide(threshold) : null;
  const said = { threshold, value: quality.drop, verdict, samples_to_decide };
  if (looked === null) return { ...said, interval: quality.interval };
  const { n: decided_at, exact, p_within } = looked;
  const { n: samples, existing, drawn, predicted } = looked.sequence;
  const decided = undecided ? null : decided_at;
  return {
    ...said,
    interval: sequenceInterval(drawn),
    evidence: { samples, existing, decided_at: decided, exact, p_within, ...predicted },
  };
}

/**
 * Every goal of the study on a metric, judged against the baseline: value and threshold are how much worse the figure
 * is and may be, in its own unit (perplexity: as a share), so that a least improvement is a threshold below 0.
 */
export function goalVerdicts(
  spec: Spec,
  baseline: readonly Measurement[],
  measurements: readonly Measurement[],
  quality: QualityComparison | null,
): ConstraintVerdict[] {
  const { goals = [] } = spec.constraints;
  return goals.filter(({ of }) => of === "metric").map((goal): ConstraintVerdict => {
    const constraint = goalLimit(goal.on);
    const nothing = { value: null, interval: null, samples_to_decide: null };
    const unmeasured = { threshold: -goal.amount, verdict: "unmeasured" as const, ...nothing };
    if (goal.on === qualityMetric(spec)) {
      return { constraint, ...qualityGoal(goal, baseline, quality) ?? unmeasured };
    }
    const worse = worseBy(goal.on, baseline, measurements, spec.runtime);
    if (worse === null) return { constraint, ...unmeasured };
    const threshold = mostWorse(goal, worse.baseline);
    const half = Z95 * (worse.error ?? 0);
    const [low, high] = [worse.value - half, worse.value + half];
    return {
      ...{ constraint, threshold, value: worse.value },
      interval: half > 0 ? [low, high] : null, // bytes are counted
      verdict: verdictOf(low, high, threshold),
      samples_to_decide: null,
    };
  });
}
