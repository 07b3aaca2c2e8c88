import type { Evaluation } from "../ports.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Spec } from "../schemas/spec.ts";
import { type Compared, objectiveFigure } from "./objectives.ts";
import { compareQuality } from "../evidence/quality.ts";
import { isDistance, isQualityMetric } from "../metrics/metric_table.ts";
import { commonRung } from "../spec/rungs.ts";
import { Z95 } from "../evidence/statistics.ts";

/** What is known of a trial on the rungs that it reached, by their names. */
export interface RungEvidence extends Compared {
  readonly evaluations: ReadonlyMap<string, Evaluation>;
}

/**
 * Whether the rungs that are left may bring a trial to the front: no member of it is as good in every
 * objective even against the better end of the trial's 95 % intervals. Quality is compared on the
 * highest rung that both reached, sample by sample, so that figures of two rungs never stand against
 * each other.
 */
export function mayReachFront(
  trial: RungEvidence,
  front: readonly RungEvidence[],
  spec: Spec,
): boolean {
  return !front.some((member) =>
    spec.objectives.every(({ metric, direction }) =>
      isQualityMetric(metric)
        ? surelyNotBetterQuality(trial, member, spec)
        : surelyNotBetter(trial, member, metric, direction, spec)
    )
  );
}

function surelyNotBetterQuality(trial: RungEvidence, member: RungEvidence, spec: Spec): boolean {
  const rung = commonRung(spec, member.evaluations, trial.evaluations);
  if (rung === undefined) return false;
  const [theirs, own] = [member, trial].map(({ evaluations }) => evaluations.get(rung)!);
  const compared = compareQuality(spec, rung, theirs!, own!);
  return compared !== null && compared.interval !== null && compared.interval[0] >= 0;
}

function surelyNotBetter(
  trial: RungEvidence,
  member: RungEvidence,
  metric: string,
  direction: "maximize" | "minimize",
  spec: Spec,
): boolean {
  // Of answers: on the highest rung that both reached.
  const rung = isDistance(metric) ? commonRung(spec, member.evaluations, trial.evaluations) : FULL;
  if (rung === undefined) return false;
  const own = objectiveFigure(trial, metric, spec, rung);
  const other = objectiveFigure(member, metric, spec, rung);
  if (isDistance(metric) && own === undefined) return false; // not measured on that rung
  if (own === undefined) return true;
  if (other === undefined) return false;
  const tied = metric === "latency_ms" && trial.latency?.form === member.latency?.form;
  const slack = tied ? 0 : Z95 * Math.hypot(own.standard_error ?? 0, other.standard_error ?? 0);
  return direction === "minimize"
    ? own.value - slack >= other.value
    : own.value + slack <= other.value;
}
