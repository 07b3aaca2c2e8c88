import type { Facts } from "../schemas/facts.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import type { ConstraintVerdict, Reward, RewardTerm } from "../schemas/trial.ts";
import { isQuality, memoryRow } from "./constraints.ts";
import { qualityMetric, qualityRow } from "./quality.ts";

/**
 * What a violated quality constraint, or a stop at the proxy gate, takes off. The weighted terms
 * stay within a few units of each other, so no saving makes up for it.
 */
export const QUALITY_PENALTY = 10;

/** What any other violated constraint takes off. */
export const LIMIT_PENALTY = 1;

export interface RewardInput {
  readonly spec: Spec;
  readonly facts: Facts;
  readonly fidelity: "proxy" | "full";
  /** Of the baseline trial. */
  readonly baseline: readonly Measurement[];
  readonly measurements: readonly Measurement[];
  readonly constraints: readonly ConstraintVerdict[];
  /** The proxy gate ended the trial. */
  readonly stopped?: boolean;
}

/**
 * R = α·accuracy − β·latency − γ·memory − δ·energy − ε·CO2 − penalties, each value over the baseline's. It
 * steers the search; what is claimed rests on the front.
 *
 * - accuracy: trial / baseline; in a study of perplexity, baseline / trial.
 * - latency: over the baseline measured in the same minutes where there is one.
 * - memory: peak of the inference process (on a GPU, its memory); not measured, bytes on disk over
 *   the fp16 bytes.
 * - energy, and CO2 where it has a weight: only where a counter was read; an estimate never steers.
 *
 * A term that was not measured is left out and says so; the other weights stay what they are, so
 * that a term means the same in every trial. All trials of a study measure the same terms.
 */
export function rewardOf(input: RewardInput): Reward {
  const { accuracy, latency, memory, energy, co2 = 0 } = input.spec.reward_weights;
  const terms = [
    term("accuracy", accuracy, 1, accuracyRatio(input)),
    term("latency", latency, -1, latencyRatio(input)),
    term("memory", memory, -1, memoryRatio(input)),
    term("energy", energy, -1, readRatio(input, "energy_j_per_1k_tokens", "energy")),
    ...(co2 > 0 ? [term("co2", co2, -1, readRatio(input, "co2_g_per_1k_tokens", "CO2"))] : []),
    ...penalties(input),
  ];
  return { value: terms.reduce((sum, { contribution }) => sum + contribution, 0), terms };
}

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
  if (value === undefined) return { value: null, note: `${what} not measured: left out` };
  if (base === undefined || !(base.value > 0)) {
    return { value: null, note: `${what} of the baseline is not above 0: left out` };
  }
  return { value: value.value / base.value, note: null };
}

function accuracyRatio({ spec, fidelity, baseline, measurements }: RewardInput): Ratio {
  const metric = qualityMetric(spec);
  const value = qualityRow(measurements, metric, fidelity);
  const base = qualityRow(baseline, metric, fidelity);
  if (metric === "accuracy") return over(value, base, "accuracy");
  const ratio = over(base, value, "perplexity");
  return ratio.value === null ? ratio : { ...ratio, note: "baseline perplexity / perplexity" };
}

function latencyRatio({ spec, baseline, measurements }: RewardInput): Ratio {
  const find = (rows: readonly Measurement[], metric: string) =>
    rows.findLast((row) =>
      row.metric === metric && row.provenance === "measured" && row.runtime === spec.runtime
    );
  const interleaved = find(measurements, "baseline_latency_ms");
  const ratio = over(
    find(measurements, "latency_ms"),
    interleaved ?? find(baseline, "latency_ms"),
    "latency",
  );
  if (ratio.value === null || interleaved === undefined) return ratio;
  return { ...ratio, note: "over the baseline of the same minutes" };
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
function readRatio(
  { baseline, measurements }: RewardInput,
  metric: string,
  what: string,
): Ratio {
  const rows = [measurements, baseline].map((list) =>
    list.findLast((row) => row.metric === metric)
  );
  if (rows.some((row) => row !== undefined && row.provenance !== "measured")) {
    return { value: null, note: `${what} is an estimate, which never steers: left out` };
  }
  return over(rows[0], rows[1], what);
}

function penalties({ constraints, stopped }: RewardInput): RewardTerm[] {
  const violated = constraints.filter((verdict) => verdict.verdict === "violated");
  const penalty = (weight: number, note: string): RewardTerm => ({
    term: "penalty",
    weight,
    normalised: 1,
    contribution: -weight,
    note,
  });
  const quality = violated.find(isQuality);
  return [
    ...(quality !== undefined
      ? [penalty(QUALITY_PENALTY, `${quality.constraint} is violated`)]
      : stopped
      ? [penalty(QUALITY_PENALTY, "ended at the proxy gate")]
      : []),
    ...violated.filter((verdict) => !isQuality(verdict))
      .map((verdict) => penalty(LIMIT_PENALTY, `${verdict.constraint} is violated`)),
  ];
}
