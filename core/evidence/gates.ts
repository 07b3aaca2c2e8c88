import type { Artifact } from "../schemas/artifact.ts";
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

/**
 * The least cosine between a layer and its source that a sound file can have. It finds broken files
 * (a swapped or transposed layer has about 0), not poor ones: rounding a row with a far outlier to 4
 * bits leaves 0.8, to 2 bits 0.2, and judging that is the evaluation's work.
 */
export function minimumCosine(weightBits: number | null): number {
  return weightBits === null || weightBits < 7 ? 0.1 : 0.6;
}

/** After each action: whether the written artifact resembles what it was made from. */
export function verificationGate(artifact: Artifact): GateDecision {
  const gate = "verification";
  const threshold = minimumCosine(artifact.weight_bits);
  const verification = artifact.verification;
  if (verification === null) {
    return {
      gate,
      decision: "abort",
      reason: `artifact ${artifact.artifact_id} was not verified after it was written`,
      value: null,
      threshold,
    };
  }
  const value = verification.minimum_cosine;
  const sound = value >= threshold;
  return {
    gate,
    decision: sound ? "pass" : "abort",
    reason: `least cosine of ${verification.layers} layers with their source is ` +
      `${value.toFixed(4)} (${verification.worst_layer}), ` +
      `${sound ? "not below" : "below"} ${threshold}`,
    value: Number.isNaN(value) ? null : value,
    threshold,
  };
}
