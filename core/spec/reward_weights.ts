import { UsageError } from "../errors.ts";
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
  const weights = { accuracy: 0, latency: 0, memory: 0, energy: 0, ...given };
  const { co2 = 0 } = weights;
  const sum = weights.accuracy + weights.latency + weights.memory + weights.energy + co2;
  if (!(sum > 0)) {
    throw new UsageError(
      `Cannot weigh the objectives as at least one weight must be above 0: ` +
        `they are ${JSON.stringify(given)}`,
    );
  }
  return {
    accuracy: weights.accuracy / sum,
    latency: weights.latency / sum,
    memory: weights.memory / sum,
    energy: weights.energy / sum,
    ...(co2 > 0 ? { co2: co2 / sum } : {}),
  };
}

/** The user's weights where given, else those of the primary objective. */
export function rewardWeights(
  primary: Spec["primary_objective"],
  given: StudyRequest["objectives"],
): RewardWeights {
  return given === undefined ? { ...REWARD_WEIGHTS[primary] } : usersWeights(given);
}
