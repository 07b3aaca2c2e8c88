import type { Spec } from "../schemas/spec.ts";
import type { GateDecision } from "../schemas/trial.ts";
import { onRung } from "../schemas/rungs.ts";
import { PERPLEXITY_RISE_PER_ACCURACY_DROP, qualityConstraint } from "./constraints.ts";
import { inLimitUnit, limitUnit, limitWords } from "../metrics/metric_words.ts";
import { type QualityComparison, qualityMetric } from "./quality.ts";
import { predictorWords } from "./sequence/control_variate.ts";
import { judgeTaken, sequenceInterval } from "./sequence/verdict.ts";

/** An accuracy drop above this on a rung below the last ends a trial there. Absolute. */
const RUNG_ACCURACY_DROP = 0.05;

/**
 * The threshold of a rung: 0.05 of accuracy, in a study of perplexity a relative rise of 0.25. A user
 * who allows a larger drop in the end gets that one here, or the gate would end what he asked for.
 */
export function rungThreshold(spec: Spec): number {
  const drop = Math.max(RUNG_ACCURACY_DROP, spec.constraints.max_accuracy_drop);
  return qualityMetric(spec) === "accuracy" ? drop : drop * PERPLEXITY_RISE_PER_ACCURACY_DROP;
}

/**
 * The same in the midst of a chain. What an action behind it is there to win back ends nothing yet:
 * its own gate decides.
 */
export function midwayGate(
  spec: Spec,
  fidelity: string,
  quality: QualityComparison | null,
  winner_back: string | null,
): GateDecision {
  const gate = rungGate(spec, fidelity, quality);
  if (gate.decision === "pass" || winner_back === null) return gate;
  const reason = `${gate.reason}: ${winner_back} is still to win it back`;
  return { ...gate, decision: "pass", reason };
}

/**
 * Ends a trial whose quality fell too far on a rung, once its samples show it: a value beyond the
 * threshold whose interval holds it ends nothing. Where no sequence of samples bounds the difference,
 * as in perplexity, its value decides, the interval only shown.
 */
export function rungGate(
  spec: Spec,
  fidelity: string,
  quality: QualityComparison | null,
): GateDecision {
  const threshold = rungThreshold(spec);
  const gate = `${fidelity}_${qualityMetric(spec)}`;
  if (quality === null) {
    return {
      gate,
      decision: "pass",
      reason: `no primary quality was measured ${onRung(fidelity)}: nothing to decide on`,
      value: null,
      threshold,
    };
  }
  const above = quality.drop > threshold + 1e-12;
  const drawn = quality.sequence?.drawn;
  const ended = drawn === undefined ? above : judgeTaken(drawn, threshold).verdict === "violated";
  const constraint = qualityConstraint(spec);
  const unit = limitUnit(constraint);
  const figure = (one: number) => inLimitUnit(constraint, one).toFixed(unit === "" ? 3 : 1);
  const limit = `${Number(inLimitUnit(constraint, threshold).toPrecision(6))}${unit}`;
  const interval = drawn === undefined ? quality.interval : sequenceInterval(drawn);
  const range = interval === null
    ? ""
    : ` (95 % interval ${figure(interval[0])} to ${figure(interval[1])}${
      predictorWords(quality.sequence?.predicted)
    })`;
  return {
    gate,
    decision: ended ? "abort" : "pass",
    reason:
      `${limitWords(constraint)} on ${quality.n} ${fidelity} samples is ${
        figure(quality.drop)
      }${unit}${range}, ` +
      (above ? `above ${limit}${ended ? "" : ", which they do not show yet"}` : `within ${limit}`),
    value: quality.drop,
    threshold,
  };
}
