import type { Facts } from "../schemas/facts.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict, Reward, RewardTerm, Trial } from "../schemas/trial.ts";
import { isQuality, memoryRow } from "../evidence/constraints.ts";
import type { CountedLatency } from "./equal_latencies.ts";
import { measuredRow, ratioOf } from "./latency_ratio.ts";
import { LATENCY_LIMITS } from "./latency_verdict.ts";
import {
  knownMetric,
  type Metric,
  metricOf,
  METRICS,
  type WeightName,
  WEIGHTS,
} from "../metrics/metric_table.ts";
import { qualityMetric, qualityRow } from "../evidence/quality.ts";
import { guessingNote, tellingQuality } from "./quality_term.ts";

/**
 * What a violated quality constraint, or a stop at the gate of a rung, takes off. The weighted terms
 * stay within a few units of each other, so no saving makes up for it.
 */
const QUALITY_PENALTY = 10;

/** What any other violated constraint takes off. */
const LIMIT_PENALTY = 1;

export interface RewardInput {
  readonly spec: Spec;
  readonly facts: Facts;
  readonly fidelity: string;
  /** Of the baseline trial. */
  readonly baseline: readonly Measurement[];
  readonly measurements: readonly Measurement[];
  readonly constraints: readonly ConstraintVerdict[];
  /** The gate of a rung ended the trial. */
  readonly stopped?: boolean;
}

/**
 * R = α·accuracy − Σ weight·cost − penalties, each value over the baseline's: of what the front names,
 * unless a user weighs otherwise. It steers the search; what is claimed rests on the front.
 *
 * - accuracy: trial / baseline, over the tasks on which the original is told from guessing: what a trial scores
 *   on another is noise; where there is none, 1 for all. In a study of perplexity, baseline / trial.
 * - distance: the share that is no longer the original's: 1 − exp(−KL), which is what a perplexity of its
 *   own text would lose, or the answers that changed; 0 of the original.
 * - latency: over the baseline measured in the same minutes where there is one; of the prompt, too, and the
 *   other way round of tokens a second.
 * - size: bytes on disk.
 * - memory: peak of the inference process (on a GPU, its memory); not measured, bytes on disk over
 *   the fp16 bytes.
 * - energy and CO2: only where a counter was read; an estimate never steers.
 *
 * Where the front names several metrics of one term, the term is their mean.
 *
 * A cost that was measured of the original and not of the trial is unknown: it counts as the original's,
 * so that nobody gains by not being measured. A term that was not measured of the original is left out of
 * every trial. Either says so; the other weights stay what they are, so that a term means the same in
 * every trial.
 */
export function rewardOf(input: RewardInput): Reward {
  const weights = input.spec.reward_weights;
  const terms = WEIGHTS.flatMap((name) => {
    const weight = weights[name];
    // What nobody weighs, and what old records lack, is no term.
    if (weight === undefined || weight === 0) return [];
    return [term(name, weight, name === "accuracy" ? 1 : -1, known(name, input))];
  });
  return sum([...terms, ...penalties(input)]);
}

/**
 * The reward of a trial as it was measured and judged; null: it has none. `baseline` is the very trial
 * where that is rewarded itself.
 */
export function rewardOfTrial(
  { reward, fidelity, measurements, constraints, state }: Trial,
  baseline: Pick<Trial, "measurements">,
  { spec, facts }: Pick<RewardInput, "spec" | "facts">,
): Reward | null {
  if (reward === null || fidelity === null) return null;
  return rewardOf({
    ...{ spec, facts, fidelity, measurements, constraints },
    baseline: baseline.measurements,
    stopped: state === "stopped",
  });
}

/** Memory where a context is asked for. */
const AT_CONTEXT = "memory_bytes_at_context";
/** Bytes of caches, and of weights with them, which the baseline has as every trial has them. */
const OF_CACHES: readonly string[] = [AT_CONTEXT, "kv_bytes_at_context", "context_kv_bytes"];

/** The metrics of a term that the front names; where it names none, the first of them all. */
function metricsOf(name: WeightName, { objectives, context_tokens }: Spec): readonly Metric[] {
  const all = METRICS.filter(({ weight }) => weight === name);
  const named = all.filter((one) => objectives.some(({ metric }) => metric === one.name));
  if (named.length > 0) return named;
  const counted = context_tokens === undefined ? [] : all.filter((one) => one.name === AT_CONTEXT);
  return counted.length > 0 ? counted : all.slice(0, 1); // every weight is some metric's
}

/** What a term is, or what stands for it where the trial's is unknown. */
function known(name: WeightName, input: RewardInput): Ratio {
  const ratio = meanRatio(name, input);
  const isCost = metricsOf(name, input.spec).every(({ kind }) => !ANSWERS.has(kind));
  if (ratio.value !== null || !isCost) return ratio;
  const original = meanRatio(name, { ...input, measurements: input.baseline });
  return original.value === null ? ratio : unknown(ratio.note);
}

/** Kinds of metric that every trial has which was evaluated. */
const ANSWERS: ReadonlySet<Metric["kind"]> = new Set(["quality", "distance"]);

function unknown(note: string | null): Ratio {
  const why = (note ?? "not measured").replace(/: left out$/, "");
  return { value: 1, note: `${why}: unknown, it counts as the original's` };
}

/** The mean over a term's metrics, of those that were measured. */
function meanRatio(name: WeightName, input: RewardInput): Ratio {
  const ratios = metricsOf(name, input.spec).map((metric) => ratioFor(metric, input));
  const known = ratios.filter(({ value }) => value !== null);
  if (known.length <= 1) return known[0] ?? ratios[0]!;
  const value = known.reduce((sum, one) => sum + one.value!, 0) / known.length;
  return { value, note: `mean of ${known.length} objectives` };
}

/** What a metric is in the reward: its value over the baseline's. */
function ratioFor(metric: Metric, input: RewardInput): Ratio {
  switch (metric.kind) {
    case "quality":
      return qualityRatio(input);
    case "distance":
      return distanceShare(metric, input);
    case "speed":
      return inTurn(metric, input);
    case "size":
      return bytesRatio(metric, input);
    case "energy":
      return readRatio(metric, input);
  }
}

function sum(terms: RewardTerm[]): Reward {
  return { value: terms.reduce((total, { contribution }) => total + contribution, 0), terms };
}

/**
 * The reward with the latency that a trial is compared by; "unknown": it has none, where others have;
 * null: latency ranks no trial of the study, and is left out of every one's reward. `violated`: the
 * constraints that it breaks.
 */
export function rescored(
  { terms }: Reward,
  latency: CountedLatency | "unknown" | null,
  violated: readonly string[],
): Reward {
  const ratio: Ratio = latency === null
    ? { value: null, note: "latency is no objective of this study: left out" }
    : latency === "unknown"
    ? unknown("latency not measured")
    : { value: latency.ratio, note: latency.note };
  const told = LATENCY_LIMITS.map(brokenNote);
  const kept = terms.filter(({ term, note }) => term !== "penalty" || !told.includes(note ?? ""))
    .map((one) => one.term === "latency" ? term(one.term, one.weight, -1, ratio) : one);
  return sum([...kept, ...violated.map((one) => penalty(LIMIT_PENALTY, brokenNote(one)))]);
}

const brokenNote = (constraint: string) => `${constraint} is violated`;

const BESIDE = "over the baseline of the same minutes";

interface Ratio {
  readonly value: number | null;
  readonly note: string | null;
}

function term(name: RewardTerm["term"], weight: number, sign: number, ratio: Ratio): RewardTerm {
  return {
    term: name,
    weight,
    normalised: ratio.value,
    // "+ 0": a weight of 0 times −1 is not to be stored as −0.
    contribution: ratio.value === null ? 0 : sign * weight * ratio.value + 0,
    note: ratio.note,
  };
}

function over(
  value: Measurement | undefined,
  base: Measurement | undefined,
  what: string,
): Ratio {
  return overValues(value?.value, base?.value, what);
}

function overValues(value: number | undefined, base: number | undefined, what: string): Ratio {
  if (value === undefined) return { value: null, note: `${what} not measured: left out` };
  if (base === undefined || !(base > 0)) {
    return { value: null, note: `${what} of the baseline is not above 0: left out` };
  }
  return { value: value / base, note: null };
}

function qualityRatio({ spec, fidelity, baseline, measurements }: RewardInput): Ratio {
  const metric = qualityMetric(spec);
  const value = qualityRow(measurements, metric, fidelity);
  const base = qualityRow(baseline, metric, fidelity);
  const { words, direction } = knownMetric(metric, "metric");
  if (direction === "maximize") {
    const { untold, ...told } = tellingQuality(spec, fidelity, baseline, measurements);
    if (untold.length === 0) return over(value, base, words);
    const ratio = overValues(told.value, told.baseline, words);
    return ratio.value === null ? ratio : { ...ratio, note: guessingNote(untold) };
  }
  const ratio = over(base, value, words);
  return ratio.value === null ? ratio : { ...ratio, note: `baseline ${words} / ${words}` };
}

/** How much is no longer the original's, from 0 to 1; the original's own is 0. */
function distanceShare(
  { name, words, unit }: Metric,
  { fidelity, measurements, baseline }: RewardInput,
): Ratio {
  const row = qualityRow(measurements, name, fidelity);
  if (row === undefined) {
    return measurements === baseline
      ? { value: 0, note: null }
      : { value: null, note: `${words} not measured: left out` };
  }
  const share = unit === "1" ? row.value : 1 - Math.exp(-Math.max(0, row.value));
  return { value: share, note: unit === "1" ? null : `1 - exp(-${words})` };
}

function bytesRatio(metric: Metric, input: RewardInput): Ratio {
  if (metric.name === "size_bytes") return sizeRatio(input);
  if (!OF_CACHES.includes(metric.name)) return memoryRatio(input);
  const last = (rows: readonly Measurement[]) =>
    rows.findLast((row) => row.metric === metric.name && row.task === null);
  return over(last(input.measurements), last(input.baseline), metric.words);
}

/** Bytes on disk over the original's as it is compared, else over those of its floats. */
function sizeRatio({ facts, baseline, measurements }: RewardInput): Ratio {
  const last = (rows: readonly Measurement[]) =>
    rows.findLast(({ metric }) => metric === "size_bytes");
  const base = last(baseline)?.value ?? facts.model.fp16_bytes;
  const own = last(measurements);
  if (own === undefined || !(base > 0)) {
    return { value: null, note: "size on disk not measured: left out" };
  }
  return { value: own.value / base, note: null };
}

/** Over the baseline of the same minutes, where there is one; tokens a second the other way round. */
function inTurn(metric: Metric, input: RewardInput): Ratio {
  const { measurements, baseline, spec: { runtime } } = input;
  const timed = metricOf(metric.reciprocal_of ?? metric.name)!;
  const { name, words, ratio: paired } = timed;
  const isBaseline = measurements === baseline;
  const ratio = paired === undefined ? null : ratioOf(measurements, paired, runtime, baseline);
  if (ratio === null) {
    const missing = measuredRow(measurements, name, runtime) === undefined
      ? `${words} not measured: left out`
      : `${words} of the baseline is not above 0: left out`;
    return { value: null, note: missing };
  }
  return { value: ratio.value, note: isBaseline || !ratio.beside ? null : BESIDE };
}

function memoryRatio({ facts, baseline, measurements }: RewardInput): Ratio {
  const ratio = over(memoryRow(measurements, facts), memoryRow(baseline, facts), "memory");
  if (ratio.value !== null) return ratio;
  const size = measurements.findLast((row) => row.metric === "size_bytes");
  if (size === undefined || facts.model.fp16_bytes <= 0) return ratio;
  return {
    value: size.value / facts.model.fp16_bytes,
    note: "memory not measured: bytes on disk over fp16 bytes",
  };
}

/** What a counter read; an estimate is no ratio. */
function readRatio(metric: Metric, input: RewardInput): Ratio {
  const rows = [input.measurements, input.baseline].map((list) =>
    list.findLast((row) => row.metric === metric.name)
  );
  if (rows.some((row) => row !== undefined && row.provenance !== "measured")) {
    return { value: null, note: `${metric.words} is an estimate, which never steers: left out` };
  }
  return inTurn(metric, input);
}

function penalty(weight: number, note: string): RewardTerm {
  return { term: "penalty", weight, normalised: 1, contribution: -weight, note };
}

function penalties({ constraints, stopped }: RewardInput): RewardTerm[] {
  const violated = constraints.filter((verdict) => verdict.verdict === "violated");
  const quality = violated.find(isQuality);
  return [
    ...(quality !== undefined
      ? [penalty(QUALITY_PENALTY, brokenNote(quality.constraint))]
      : stopped
      ? [penalty(QUALITY_PENALTY, "ended at a gate")]
      : []),
    ...violated.filter((verdict) => !isQuality(verdict))
      .map((verdict) => penalty(LIMIT_PENALTY, brokenNote(verdict.constraint))),
  ];
}
