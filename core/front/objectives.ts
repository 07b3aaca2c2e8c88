import type { Facts } from "../schemas/facts.ts";
import { FULL, isDecisive } from "../schemas/fidelity.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Objective, Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import {
  type Comparable,
  type ComparableStudy,
  type Comparand,
  type ComparedSpec,
  latencyFigure,
} from "./comparable.ts";
import { hypervolume, hypervolumeContributions } from "./hypervolume.ts";
import { type Direction, paretoFront, paretoRanks, type Point } from "./pareto.ts";
import { qualityRow } from "../evidence/quality.ts";
import { onRung } from "../schemas/rungs.ts";
import { isDistance, isOfAnswers, isQualityMetric, isShare } from "../metrics/metric_table.ts";

/**
 * Corner of the hypervolume, relative to the baseline: a trial counts while it costs at most a tenth
 * more (has at least a tenth less of what should be large, such as tokens per second), scores above 0,
 * has at most twice the perplexity, and is at most a nat a token from the original's distribution, or
 * has all answers changed.
 */
const REFERENCE = {
  cost: 1.1,
  gain: 1 / 1.1,
  share: 0,
  perplexity: 2,
  distance: 1,
} as const;

function cornerOf({ metric, direction }: Pick<Objective, "metric" | "direction">): number {
  if (isShare(metric)) return REFERENCE.share;
  if (isQualityMetric(metric)) return REFERENCE.perplexity;
  if (isDistance(metric)) return REFERENCE.distance;
  return direction === "maximize" ? REFERENCE.gain : REFERENCE.cost;
}

export function directionsOf(spec: Pick<Spec, "objectives">): Direction[] {
  return spec.objectives.map((objective) => objective.direction);
}

/** What a trial is compared by. */
export type Compared = Pick<Comparable, "measurements" | "latency" | "in_turn">;

/** A value as it is compared, with its standard error. */
export type ObjectiveFigure = Pick<Measurement, "value" | "standard_error">;

/**
 * The figure that stands for an objective: quality, and the distance to the original, over the tasks
 * at full fidelity; latency as the ratio to the baseline of the same minutes, in milliseconds of one
 * baseline; everything else in the study's runtime, measured (neither estimated nor emulated).
 */
export function objectiveFigure(
  { measurements, latency, in_turn }: Compared,
  metric: string,
  spec: Pick<Spec, "runtime">,
  fidelity: string = FULL,
): ObjectiveFigure | undefined {
  if (metric === "latency_ms") return latency === null ? undefined : latencyFigure(latency);
  if (isOfAnswers(metric)) {
    const row = qualityRow(measurements, metric, fidelity);
    return row?.provenance === "measured" ? row : undefined;
  }
  const compared = in_turn?.get(metric);
  if (compared !== undefined) return compared;
  return measurements.findLast((row) =>
    row.metric === metric && row.provenance === "measured" &&
    (row.runtime === null || row.runtime === spec.runtime)
  );
}

/** A trial's place among the objectives, or why it has none. */
export function pointOf(
  trial: Compared,
  spec: Pick<Spec, "runtime" | "objectives">,
  fidelity: string = FULL,
): { point: number[] } | { reason: string } {
  const point: number[] = [];
  for (const { metric } of spec.objectives) {
    const figure = objectiveFigure(trial, metric, spec, fidelity);
    if (figure === undefined || Number.isNaN(figure.value)) {
      return {
        reason: `${metric} was not measured${isOfAnswers(metric) ? ` ${onRung(fidelity)}` : ""}`,
      };
    }
    point.push(figure.value);
  }
  return { point };
}

/** The front of a study and everything that is not eligible for it, with the reason. */
export interface Front<T extends Comparand = Trial> {
  /** Best reward first. */
  readonly members: readonly { trial: Comparable<T>; point: Point }[];
  /** Eligible, but dominated. */
  readonly dominated: readonly { trial: Comparable<T>; point: Point }[];
  readonly left_out: readonly { trial_id: string; reason: string }[];
}

/**
 * The trials that nothing dominates, among those evaluated in full, by the objectives in force. A violated
 * constraint does not remove a trial (it is marked and never recommended); an invalid, stopped or
 * trial below the last rung is left out with its reason.
 */
export function frontOf<T extends Comparand, S extends ComparedSpec>(
  { trials, spec }: Pick<ComparableStudy<T, S>, "trials" | "spec">,
): Front<T> {
  const eligible: { trial: Comparable<T>; point: Point }[] = [];
  const left_out: { trial_id: string; reason: string }[] = [];
  for (const trial of trials) {
    const reason = ineligible(trial);
    const place = reason === null ? pointOf(trial, spec) : { reason };
    if ("point" in place) eligible.push({ trial, point: place.point });
    else left_out.push({ trial_id: trial.trial_id, reason: place.reason });
  }
  const kept = new Set(paretoFront(eligible.map(({ point }) => point), directionsOf(spec)));
  const value = (trial: Comparand) => trial.reward?.value ?? -Infinity;
  return {
    members: eligible.filter((_, i) => kept.has(i))
      .sort((a, b) => value(b.trial) - value(a.trial) || a.trial.number - b.trial.number),
    dominated: eligible.filter((_, i) => !kept.has(i)),
    left_out,
  };
}

function ineligible(trial: Comparand): string | null {
  if (trial.state !== "completed") return `its state is ${trial.state}`;
  if (isDecisive(trial.fidelity)) return null;
  return trial.fidelity === null
    ? "it was not evaluated"
    : `it was evaluated ${onRung(trial.fidelity)} only`;
}

/** What a hypervolume is measured with: fixed for a study. */
export interface Yardstick {
  /**
   * What each objective is divided by: the baseline's figure, and for bytes the fp16 bytes, so that
   * a baseline kept in fp32 does not flatter every trial. A score from 0 to 1 stays as it is.
   */
  readonly scale: readonly number[];
  readonly reference: readonly number[];
  readonly directions: readonly Direction[];
}

/** The yardstick of a study whose baseline lies at a point, in the order of the objectives. */
export function yardstickOf(
  objectives: readonly Pick<Objective, "metric" | "direction">[],
  baseline: Point,
  fp16_bytes: number,
): Yardstick {
  const scale = objectives.map(({ metric }, i) => {
    if (isShare(metric) || isDistance(metric)) return 1;
    if (metric === "size_bytes" && fp16_bytes > 0) return fp16_bytes;
    return baseline[i]! > 0 ? baseline[i]! : 1;
  });
  return {
    scale,
    reference: objectives.map(cornerOf),
    directions: objectives.map(({ direction }) => direction),
  };
}

/** Points in units of the yardstick. */
export function scaled(points: readonly Point[], { scale }: Yardstick): number[][] {
  return points.map((point) => point.map((value, i) => value / scale[i]!));
}

/** What a study's hypervolume is measured with; null where no baseline is measured. */
export function yardstickFor(
  { spec, trials }: ComparableStudy,
  { model }: Pick<Facts, "model">,
): Yardstick | null {
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  const place = baseline === undefined ? null : pointOf(baseline, spec);
  return place !== null && "point" in place
    ? yardstickOf(spec.objectives, place.point, model.fp16_bytes)
    : null;
}

/** Hypervolume of the front over the baseline's scale; null where no baseline is measured. */
export function frontHypervolume(study: ComparableStudy, facts: Facts): number | null {
  const yardstick = yardstickFor(study, facts);
  if (yardstick === null) return null;
  const front = frontOf(study);
  const points = scaled(front.members.map(({ point }) => point), yardstick);
  return hypervolume(points, yardstick.reference, yardstick.directions);
}

/** Where a point stands among the others. */
export interface Standing {
  /** 0: on the front; 1: on the front that is left without those; and so on. */
  readonly rank: number;
  /** Hypervolume that the front loses without it, whoever it dominated taking its place; 0 off it. */
  readonly contribution: number;
}

/** Where each point stands, in the order given. */
export function standingsOf(points: readonly Point[], yardstick: Yardstick): Standing[] {
  const ranks = paretoRanks(points, yardstick.directions);
  const placed = (wanted: number) => ranks.flatMap((rank, i) => rank === wanted ? [i] : []);
  const members = placed(0);
  const volumes = (indices: readonly number[]) => scaled(indices.map((i) => points[i]!), yardstick);
  // Only the next front can take a member's place: what lies behind it is covered by that one.
  const lost = hypervolumeContributions(
    volumes(members),
    yardstick.reference,
    yardstick.directions,
    volumes(placed(1)),
  );
  const contributions = new Map(members.map((index, i) => [index, lost[i]!]));
  return ranks.map((rank, i) => ({ rank, contribution: contributions.get(i) ?? 0 }));
}
