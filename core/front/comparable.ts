import { metricWords } from "../metrics/metric_words.ts";
import { trialName } from "../strategies/strategy_names.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { type ComparedLatency, compareLatencies } from "./compared_latency.ts";
import { type CountedLatency, equalLatencies } from "./equal_latencies.ts";
import { isQualityMetric, metricOf } from "../metrics/metric_table.ts";
import { measuredRow, ratioOf } from "./latency_ratio.ts";
import { LATENCY_LIMITS, latencyVerdict } from "./latency_verdict.ts";
import { rescored } from "./reward.ts";

/** What a comparison reads of a trial. */
export type Comparand = Pick<
  Trial,
  | "trial_id"
  | "number"
  | "strategy"
  | "state"
  | "fidelity"
  | "measurements"
  | "reward"
  | "constraints"
>;

/** What a comparison reads of a spec. */
export type ComparedSpec =
  & Pick<Spec, "objectives" | "runtime" | "constraints">
  & Partial<Pick<Spec, "assumptions">>;

/** A trial as it is compared with others: its latency is a ratio; reward and limit go by that. */
export type Comparable<T extends Comparand = Trial> = T & {
  /** Null: it was not measured in the study's runtime. */
  readonly latency: ComparedLatency | null;
  /**
   * What else of the objectives is measured in turn with the baseline, by metric: its ratio, times
   * the baseline's own figure.
   */
  readonly in_turn?: ReadonlyMap<string, { value: number; standard_error: number | null }>;
};

/** A study's trials made comparable; made anew whenever one is added. */
export interface ComparableStudy<
  T extends Comparand = Trial,
  S extends ComparedSpec = Spec,
> {
  /** Its objectives are those in force. */
  readonly spec: S;
  readonly trials: readonly Comparable<T>[];
  /** Objectives that some trial's form can never have a measured figure of: none is ranked by them. */
  readonly without: readonly { readonly metric: string; readonly reason: string }[];
}

/**
 * Makes the trials of a study comparable. Latencies are compared by their ratio to the baseline of
 * the same minutes (`compareLatencies`), whose figure takes the place of the trial's own in the verdict
 * on limits and goals of latency; in the reward those that are not told apart count as equal
 * (`equalLatencies`). An objective that a trial can never have, as its speed is only emulated, is none of
 * this study: the trials are compared by what all of them have, rather than some of them by nothing.
 * Idempotent, as only measured rows are read.
 */
export function comparableStudy<T extends Comparand, S extends ComparedSpec>(
  trials: readonly T[],
  spec: S,
): ComparableStudy<T, S> {
  const latencies = compareLatencies(trials, spec.runtime);
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  const timed = trials.map((trial) => ({
    ...trial,
    latency: latencies.get(trial.trial_id) ?? null,
    in_turn: inTurn(trial, baseline, spec),
  }));
  const without = spec.objectives.flatMap(({ metric }) => {
    const reason = unmeasured(timed, metric, spec.runtime);
    return reason === null ? [] : [{ metric, reason }];
  });
  const left = new Set(without.map(({ metric }) => metric));
  const objectives = spec.objectives.filter(({ metric }) => !left.has(metric));
  // A front that is asked for may be without latency; the reward weighs it all the same.
  const ranked = objectives.some(({ metric }) => metric === "latency_ms") ||
    (isAsked(spec) && !left.has("latency_ms") &&
      unmeasured(timed, "latency_ms", spec.runtime) === null);
  const counted = equalLatencies(trials, latencies);
  const none = counted.size === 0 ? undefined : "unknown"; // nothing was timed: as it was judged
  return {
    spec: { ...spec, objectives },
    trials: timed.map((trial) =>
      judged(trial, spec, ranked ? counted.get(trial.trial_id) ?? none : null)
    ),
    without,
  };
}

/** Objectives beside latency that have a ratio to the baseline of the same minutes. */
function inTurn(
  trial: Comparand,
  baseline: Comparand | undefined,
  { objectives, runtime }: ComparedSpec,
): NonNullable<Comparable<Comparand>["in_turn"]> {
  const found = objectives.flatMap(({ metric }) => {
    const paired = metric === "latency_ms" ? undefined : metricOf(metric)?.ratio;
    const base = baseline && measuredRow(baseline.measurements, metric, runtime);
    if (paired === undefined || base === undefined || trial.strategy === null) return [];
    const ratio = ratioOf(trial.measurements, paired, runtime, baseline!.measurements);
    if (ratio === null) return [];
    const value = ratio.value * base.value;
    const standard_error = ratio.log_error === null ? null : value * ratio.log_error;
    return [[metric, { value, standard_error }] as const];
  });
  return new Map(found);
}

/** Whether the study's request named its objectives: then nothing is assumed of them. */
function isAsked(
  { objectives, assumptions = [] }: Pick<ComparedSpec, "objectives" | "assumptions">,
): boolean {
  const [quality, ...costs] = objectives.map(({ metric }) => metric);
  const byDefault = isQualityMetric(quality ?? "") && costs.join() === "latency_ms,size_bytes";
  return !byDefault && !assumptions.some(({ field }) => field === "objectives");
}

/**
 * Why trials of a study cannot be ranked by a metric; null: they can. One that runs has yet to be
 * timed, so only an emulated figure of its own says that it never will be.
 */
function unmeasured(
  trials: readonly Comparable<Comparand>[],
  metric: string,
  runtime: string,
): string | null {
  // A trial without quality or bytes is left out itself: that says nothing of the runtime.
  if (metricOf(metric)?.in_runtime !== true) return null;
  const judged = trials.filter(({ strategy, state, fidelity }) =>
    strategy !== null && fidelity !== null && (state === "completed" || state === "running")
  );
  const lacking = judged.filter((trial) => !isMeasured(trial, metric, runtime));
  const emulated = lacking.filter(({ measurements }) =>
    measurements.some((row) => row.metric === metric && row.provenance === "emulated")
  );
  const named = (some: typeof judged) =>
    some.length === judged.length && some.length > 1
      ? `all ${some.length} trials`
      : some.map(({ number }) => trialName(number)).join(", ");
  if (emulated.length > 0) {
    return `${runtime} only emulates the speed of ${named(emulated)}`;
  }
  const ended = judged.filter(({ state }) => state === "completed");
  return ended.length > 0 && lacking.length === judged.length
    ? `it was not measured in ${runtime} for ${named(ended)}`
    : null;
}

function isMeasured(trial: Comparable<Comparand>, metric: string, runtime: string): boolean {
  if (metric === "latency_ms") return trial.latency !== null;
  return trial.measurements.some((row) =>
    row.metric === metric && row.provenance === "measured" &&
    (row.runtime === null || row.runtime === runtime)
  );
}

/** The trial with the verdict and the reward that its compared latency gives. */
function judged<T extends Comparand>(
  trial: Comparable<T>,
  spec: ComparedSpec,
  counted: CountedLatency | "unknown" | null | undefined,
): Comparable<T> {
  const { latency } = trial;
  const constraints = latency === null
    ? trial.constraints
    : trial.constraints.map((verdict) => latencyVerdict(verdict, spec.constraints, latency));
  const violated = constraints.flatMap(({ constraint, verdict }) =>
    LATENCY_LIMITS.includes(constraint) && verdict === "violated" ? [constraint] : []
  );
  const { reward, strategy } = trial;
  // The original is what ratios are over.
  const keeps = reward === null || counted === undefined ||
    (strategy === null && counted !== null);
  return {
    ...trial,
    constraints,
    reward: keeps ? reward : rescored(reward, counted, violated),
  };
}

/** A compared latency as a value with its error, milliseconds per token. */
export function latencyFigure(
  { ms, log_error }: ComparedLatency,
): { value: number; standard_error: number | null } {
  return { value: ms, standard_error: log_error === null ? null : ms * log_error };
}

/**
 * What the front is of, as one sentence, where it is asked for, or latency cannot be an objective: left
 * out when the spec was inferred, or as a trial has none that was measured. Null: the default.
 */
export function objectivesSentence(
  { spec, without }: {
    readonly spec: Pick<Spec, "objectives" | "assumptions">;
    readonly without: ComparableStudy["without"];
  },
): string | null {
  const inferred = spec.assumptions.find(({ field }) => field === "objectives");
  const ranked = spec.objectives.some(({ metric }) => metric === "latency_ms");
  const left = without.length > 0 || ranked || inferred === undefined
    ? without
    : [{ metric: "latency_ms", reason: inferred.reason }];
  const words = (metrics: readonly { metric: string }[], and: string) => {
    const named = metrics.map(({ metric }) => metricWords(metric));
    return named.length < 3 ? named.join(and) : named.slice(0, -1).join(", ") + and + named.at(-1);
  };
  if (left.length === 0) {
    return isAsked(spec) ? `The front is of ${words(spec.objectives, " and ")}, as asked.` : null;
  }
  const reasons = left.map(({ reason }) => reason).join("; ");
  return `The front is of ${words(spec.objectives, " and ")}, not of ${words(left, " or ")}: ` +
    `${reasons}.`;
}
