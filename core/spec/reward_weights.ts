import { UsageError } from "../errors.ts";
import { type WeightName, WEIGHTS } from "../metrics/metric_table.ts";
import type { StudyRequest } from "../schemas/request.ts";
import type { RewardWeights, Spec } from "../schemas/spec.ts";

/**
 * Weights of R = α·accuracy − β·latency − γ·memory − δ·energy − ε·CO2, by primary objective. Where the
 * answer must be right, accuracy outweighs the three costs together; where a person waits for it,
 * accuracy and latency weigh the same. Memory counts more than energy, which is often estimated;
 * CO2 is energy once more, and counts where a user says so.
 */
export const REWARD_WEIGHTS: Readonly<Record<Spec["primary_objective"], RewardWeights>> = {
  accuracy: { accuracy: 0.6, latency: 0.2, memory: 0.15, energy: 0.05 },
  latency: { accuracy: 0.4, latency: 0.4, memory: 0.15, energy: 0.05 },
};

/** The user's weights, scaled to sum to 1; those left out are 0. */
function usersWeights(given: NonNullable<StudyRequest["objectives"]>): RewardWeights {
  const sum = WEIGHTS.reduce((total, name) => total + (given[name] ?? 0), 0);
  if (!(sum > 0)) {
    throw new UsageError(
      `Cannot weigh the objectives as at least one weight must be above 0: ` +
        `they are ${JSON.stringify(given)}`,
    );
  }
  const share = (name: WeightName) => (given[name] ?? 0) / sum;
  const named = WEIGHTS.filter((name) => name !== "co2" || share(name) > 0)
    .map((name) => [name, share(name)]);
  return Object.fromEntries(named) as RewardWeights; // every weight but co2 is always named
}

/** "accuracy 0.6, latency 0.2": the weights in words, as reports and advice say them. */
export function weightsText(weights: RewardWeights): string {
  return WEIGHTS.flatMap((name) => {
    const words = name === "co2" ? "CO2" : name;
    const weight = weights[name];
    // Weights are scaled to sum to 1: three digits say what a reader wants of them.
    return weight === undefined ? [] : [`${words} ${Number(weight.toPrecision(3))}`];
  }).join(", ");
}

/** The user's weights where given, else those of the primary objective. */
export function rewardWeights(
  primary: Spec["primary_objective"],
  given: StudyRequest["objectives"],
): RewardWeights {
  return given === undefined ? { ...REWARD_WEIGHTS[primary] } : usersWeights(given);
}
