import type { Evaluation } from "../ports.ts";
import type { Sampling } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { GateDecision } from "../schemas/trial.ts";
import { onRung } from "../schemas/rungs.ts";
import { rungThreshold } from "./gates.ts";
import { type PoweredEstimate, predictionPowered } from "./prediction_powered.ts";
import { countedTasks, ofTask, qualityMetric } from "./quality.ts";
import { pairBySample, Z95 } from "./statistics.ts";
import { weightedMean } from "./strata.ts";

/** What was read of the original and of a trial. */
interface Both {
  readonly reference: Evaluation;
  readonly other: Evaluation;
}

/** A drop of accuracy over all samples whose likelihood is known, and how each task's was estimated. */
export interface PoweredQuality {
  readonly drop: number;
  readonly interval: readonly [number, number];
  readonly tasks: readonly (PoweredEstimate & { readonly task: string })[];
}

/** Whether the scored samples are drawn at random, as the estimate needs. */
export function isDrawn({ strategy, shuffle }: Pick<Sampling, "strategy" | "shuffle">): boolean {
  return shuffle && strategy !== "sequential";
}

/**
 * The drop of accuracy over the samples of the likelihood's rung, from those of them that a higher rung
 * generated and the likelihood of all. Null where that does not hold: a task whose likelihood is not
 * known, parts that weigh otherwise than by their samples, fewer than ten samples, no accuracy.
 */
export function poweredQuality(spec: Spec, scored: Both, likely: Both): PoweredQuality | null {
  if (qualityMetric(spec) !== "accuracy") return null;
  const parts = countedTasks(scored.other.measurements, spec, "accuracy").map(({ plan }) => {
    const { task, weight = 1 } = plan;
    const estimate = plan.strata === undefined ? estimateOf(task, scored, likely) : null;
    return estimate === null ? null : { ...estimate, task, weight };
  });
  const known = parts.flatMap((part) => part ?? []);
  if (known.length === 0 || known.length < parts.length) return null;
  const total = known.reduce((sum, { weight }) => sum + weight, 0);
  const drop = weightedMean(known.map(({ drop, weight }) => ({ value: drop, weight })));
  const half = Z95 *
    Math.hypot(...known.map(({ standard_error, weight }) => weight * standard_error / total));
  return { drop, interval: [drop - half, drop + half], tasks: known };
}

function estimateOf(task: string, scored: Both, likely: Both): PoweredEstimate | null {
  const pairsOf = ({ reference, other }: Both) =>
    pairBySample(ofTask(reference, task), ofTask(other, task)).pairs;
  const predictors = new Map(
    pairsOf(likely).map(({ sample_hash, reference, score }) => [sample_hash, reference - score]),
  );
  const pairs = pairsOf(scored);
  const found = pairs.flatMap(({ sample_hash, reference, score }) => {
    const predictor = predictors.get(sample_hash);
    predictors.delete(sample_hash);
    return predictor === undefined ? [] : [{ difference: reference - score, predictor }];
  });
  if (found.length < pairs.length) return null; // samples that nothing is known of beside
  return predictionPowered({ scored: found, others: [...predictors.values()] });
}

/** The estimate beside a rung's gate: it decides nothing, as its interval may be looked at once only. */
export function poweredGate(
  spec: Spec,
  fidelity: string,
  { drop, interval, tasks }: PoweredQuality,
): GateDecision {
  const used = tasks.map(({ task, n, population, rho, lambda, fallback }) =>
    `${task}: ${n} of ${population} generated, ` +
    (fallback === null
      ? `prediction-powered by the likelihood, rho ${rho.toFixed(2)}, lambda ${lambda.toFixed(2)}`
      : `plain mean, as ${fallback}`)
  );
  // Differences that are all alike have no spread to tell an error by: that is no certainty.
  const alike = tasks.some(({ standard_error, n, population }) =>
    standard_error === 0 && n < population
  );
  const range = alike
    ? "no interval, as the scored samples all differ alike"
    : `95 % interval ${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}`;
  return {
    gate: `${fidelity}_powered_accuracy`,
    decision: "pass",
    reason: `accuracy drop over all samples whose likelihood is known, estimated ` +
      `${onRung(fidelity)}, is ${drop.toFixed(3)} (${range}; it decides nothing); ${
        used.join("; ")
      }`,
    value: drop,
    threshold: rungThreshold(spec),
  };
}
