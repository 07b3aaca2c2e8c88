import type { Evaluation } from "../ports.ts";
import type { Spec } from "../schemas/spec.ts";
import { type Compared, objectiveFigure } from "./objectives.ts";
import { compareQuality } from "../evidence/quality.ts";
import { isQualityMetric } from "../metrics/metric_table.ts";
import { Z95 } from "../evidence/statistics.ts";

/** What is known of a trial after its proxy. */
export interface ProxyEvidence extends Compared {
  readonly proxy: Evaluation;
}

/**
 * Whether a full evaluation may bring a trial to the front: no member of it is as good in every
 * objective even against the better end of the trial's 95 % intervals. Quality is compared on the
 * proxy's own samples, paired, so that a proxy figure never stands against a full one.
 */
export function mayReachFront(
  trial: ProxyEvidence,
  front: readonly ProxyEvidence[],
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

function surelyNotBetterQuality(trial: ProxyEvidence, member: ProxyEvidence, spec: Spec): boolean {
  const compared = compareQuality(spec, "proxy", member.proxy, trial.proxy);
  return compared !== null && compared.interval !== null && compared.interval[0] >= 0;
}

function surelyNotBetter(
  trial: ProxyEvidence,
  member: ProxyEvidence,
  metric: string,
  direction: "maximize" | "minimize",
  spec: Spec,
): boolean {
  const own = objectiveFigure(trial, metric, spec);
  const other = objectiveFigure(member, metric, spec);
  if (own === undefined) return true;
  if (other === undefined) return false;
  const tied = metric === "latency_ms" && trial.latency?.form === member.latency?.form;
  const slack = tied ? 0 : Z95 * Math.hypot(own.standard_error ?? 0, other.standard_error ?? 0);
  return direction === "minimize"
    ? own.value - slack >= other.value
    : own.value + slack <= other.value;
}
