import { goalLimit, limitedTask } from "../metrics/metric_words.ts";
import type { Facts } from "../schemas/facts.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict } from "../schemas/trial.ts";
import { goalVerdicts } from "./goals.ts";
import type { QualityComparison } from "./quality.ts";
import { qualityMetric } from "./quality.ts";
import type { PairedSequence } from "./sequence/paired_sequence.ts";
import { judgeTaken, sequenceInterval } from "./sequence/verdict.ts";
import { SLACK } from "./slack.ts";
import { Z95 } from "./statistics.ts";
import { type TaskDrop, taskVerdicts } from "./task_limits.ts";

/**
 * In a study of perplexity alone, what an accuracy threshold becomes: a drop of 0.02 allows a
 * relative rise of 0.10, and the proxy's 0.05 one of 0.25. A rule of thumb for small models, where
 * a tenth more perplexity costs about two points of an easy choice; written down, not derived.
 */
export const PERPLEXITY_RISE_PER_ACCURACY_DROP = 5;

const GIGABYTE = 1e9;

/** The memory figure a memory limit applies to: the GPU's on a GPU, else the process's. */
export function memoryRow(
  measurements: readonly Measurement[],
  facts: Facts,
): Measurement | undefined {
  const metric = facts.device.device === "cuda" ? "gpu_memory_bytes" : "memory_bytes";
  return measurements.findLast((row) => row.metric === metric && row.provenance === "measured");
}

/**
 * Every constraint in force with its verdict; quality first, goals against the baseline last. Latency is judged by the trial's own
 * minutes until `comparableStudy` puts it beside the other trials.
 */
export function checkConstraints(
  spec: Spec,
  facts: Facts,
  measurements: readonly Measurement[],
  quality: QualityComparison | null,
  tasks: readonly TaskDrop[] = [],
  baseline: readonly Measurement[] = [],
): ConstraintVerdict[] {
  const { max_size_gb, max_latency_ms, max_vram_gb, max_kv_gb = null } = spec.constraints;
  const verdicts = [qualityVerdict(spec, quality), ...taskVerdicts(spec, tasks)];
  const add = (
    constraint: string,
    limit: number | null,
    row: Measurement | undefined,
    unit = 1,
  ) => {
    if (limit !== null) verdicts.push(limitVerdict(constraint, limit, row, unit));
  };
  add("max_size_gb", max_size_gb, latest(measurements, "size_bytes"), GIGABYTE);
  add("max_latency_ms", max_latency_ms, latest(measurements, "latency_ms", spec.runtime));
  const memory = spec.context_tokens === undefined
    ? memoryRow(measurements, facts)
    : latest(measurements, "memory_bytes_at_context");
  add("max_vram_gb", max_vram_gb, memory, GIGABYTE);
  add("max_kv_gb", max_kv_gb, latest(measurements, "kv_bytes_at_context"), GIGABYTE);
  return [...verdicts, ...goalVerdicts(spec, baseline, measurements, quality)];
}

function latest(
  measurements: readonly Measurement[],
  metric: string,
  runtime?: string,
): Measurement | undefined {
  return measurements.findLast((row) =>
    row.metric === metric && row.provenance === "measured" &&
    (runtime === undefined || row.runtime === runtime)
  );
}

/** The limit on a study's quality, by the metric that this is. */
export function qualityConstraint(spec: Spec): "max_accuracy_drop" | "max_perplexity_rise" {
  return qualityMetric(spec) === "accuracy" ? "max_accuracy_drop" : "max_perplexity_rise";
}

/** What the quality may lose: a drop of accuracy, or the relative rise of perplexity for it. */
export function allowedDrop(spec: Spec): number {
  const rises = qualityConstraint(spec) === "max_perplexity_rise";
  return spec.constraints.max_accuracy_drop * (rises ? PERPLEXITY_RISE_PER_ACCURACY_DROP : 1);
}

function qualityVerdict(spec: Spec, quality: QualityComparison | null): ConstraintVerdict {
  const [constraint, threshold] = [qualityConstraint(spec), allowedDrop(spec)];
  if (quality === null) return unmeasured(constraint, threshold);
  if (quality.sequence !== null && quality.sequence.n > 0) {
    return sequentialVerdict(constraint, threshold, quality, quality.sequence);
  }
  const verdict = decide(quality.drop, quality.interval, threshold);
  return {
    constraint,
    threshold,
    value: quality.drop,
    interval: quality.interval,
    // Without an interval a difference in quality decides nothing.
    verdict: quality.interval === null ? "undecided" : verdict,
    samples_to_decide: verdict === "undecided" ? quality.samplesToDecide(threshold) : null,
  };
}

/** By an interval that is valid at every look; once all samples that exist are taken, exactly. */
function sequentialVerdict(
  constraint: string,
  threshold: number,
  quality: QualityComparison,
  { drawn, existing, n, predicted }: PairedSequence,
): ConstraintVerdict {
  const { verdict, n: decided_at, exact, p_within } = judgeTaken(drawn, threshold);
  return {
    constraint,
    threshold,
    value: quality.drop,
    interval: sequenceInterval(drawn),
    verdict,
    samples_to_decide: verdict === "undecided" ? quality.samplesToDecide(threshold) : null,
    evidence: {
      samples: n,
      existing,
      decided_at: verdict === "undecided" ? null : decided_at,
      exact,
      p_within,
      ...predicted,
    },
  };
}

/** A figure against its limit: 95 % from its standard error; without one, the value decides. */
export function limitVerdict(
  constraint: string,
  limit: number,
  row: Pick<Measurement, "value" | "standard_error"> | undefined,
  unit = 1,
): ConstraintVerdict {
  if (row === undefined || Number.isNaN(row.value)) return unmeasured(constraint, limit);
  const value = row.value / unit;
  const half = row.standard_error === null ? null : Z95 * row.standard_error / unit;
  const interval: [number, number] | null = half === null ? null : [value - half, value + half];
  return {
    constraint,
    threshold: limit,
    value,
    interval,
    verdict: decide(value, interval, limit),
    samples_to_decide: null,
  };
}

function decide(
  value: number,
  interval: [number, number] | null,
  limit: number,
): "met" | "violated" | "undecided" {
  const [low, high] = interval ?? [value, value];
  if (high <= limit + SLACK) return "met";
  return low > limit + SLACK ? "violated" : "undecided";
}

function unmeasured(constraint: string, threshold: number): ConstraintVerdict {
  return {
    constraint,
    threshold,
    value: null,
    interval: null,
    verdict: "unmeasured",
    samples_to_decide: null,
  };
}

const QUALITY_GOALS: ReadonlySet<string> = new Set(["accuracy", "perplexity"].map(goalLimit));

/** Whether the verdict is about the quality of the answers. */
export function isQuality(verdict: ConstraintVerdict): boolean {
  const { constraint } = verdict;
  return constraint === "max_accuracy_drop" || constraint === "max_perplexity_rise" ||
    limitedTask(constraint) !== null || QUALITY_GOALS.has(constraint);
}
