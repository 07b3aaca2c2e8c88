import type { Spec } from "../schemas/spec.ts";
import type { GateDecision } from "../schemas/trial.ts";
import { PERPLEXITY_RISE_PER_ACCURACY_DROP } from "./constraints.ts";
import { type QualityComparison, qualityMetric } from "./quality.ts";

/** An accuracy drop on the proxy above this ends a trial there. Absolute. */
export const PROXY_ACCURACY_DROP = 0.05;

/**
 * The proxy's threshold: 0.05 of accuracy, in a study of perplexity a relative rise of 0.25. A user
 * who allows a larger drop in the end gets that one here, or the gate would end what he asked for.
 */
export function proxyThreshold(spec: Spec): number {
  const drop = Math.max(PROXY_ACCURACY_DROP, spec.constraints.max_accuracy_drop);
  return qualityMetric(spec) === "accuracy" ? drop : drop * PERPLEXITY_RISE_PER_ACCURACY_DROP;
}

/** Ends a trial whose quality fell too far on the proxy: by its value, the interval only shown. */
export function proxyGate(spec: Spec, quality: QualityComparison | null): GateDecision {
  const threshold = proxyThreshold(spec);
  const gate = `${quality?.fidelity ?? "proxy"}_${qualityMetric(spec)}`;
  if (quality === null) {
    return {
      gate,
      decision: "pass",
      reason: "the proxy measured no primary quality: nothing to decide on",
      value: null,
      threshold,
    };
  }
  const ended = quality.drop > threshold + 1e-12;
  const what = quality.metric === "accuracy" ? "accuracy drop" : "relative rise of perplexity";
  const range = quality.interval === null
    ? ""
    : ` (95 % interval ${quality.interval[0].toFixed(3)} to ${quality.interval[1].toFixed(3)})`;
  return {
    gate,
    decision: ended ? "abort" : "pass",
    reason:
      `${what} on ${quality.n} ${quality.fidelity} samples is ${
        quality.drop.toFixed(3)
      }${range}, ` +
      `${ended ? "above" : "within"} ${threshold}`,
    value: quality.drop,
    threshold,
  };
}
