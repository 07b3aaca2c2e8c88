import { UsageError } from "../errors.ts";
import { metricOf, type WeightName, WEIGHTS } from "../metrics/metric_table.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { RewardWeights, Spec } from "../schemas/spec.ts";

/**
 * How much each part of the reward counts beside the others, by primary objective; those that the front
 * names are scaled to sum to 1. Where the answer must be right, accuracy outweighs latency and size
 * together; where a person waits for it, accuracy and latency count the same. Memory counts more than
 * energy, which is often estimated; CO2 is energy once more.
 */
const COSTS = { distance: 0.2, size: 0.2, memory: 0.15, energy: 0.05, co2: 0.05 };
const IMPORTANCE: Readonly<Record<Spec["primary_objective"], Record<WeightName, number>>> = {
  accuracy: { ...COSTS, accuracy: 0.6, latency: 0.2 },
  latency: { ...COSTS, accuracy: 0.4, latency: 0.4 },
};

/** Weights that every record names, also where they are 0. */
const ALWAYS: ReadonlySet<WeightName> = new Set(["accuracy", "latency", "memory", "energy"]);

/** Scaled to sum to 1; those left out are 0. */
function scaled(given: Partial<Record<WeightName, number>>, sum: number): RewardWeights {
  const named = WEIGHTS.map((name) => [name, (given[name] ?? 0) / sum] as const)
    .filter(([name, share]) => ALWAYS.has(name) || share > 0);
  return Object.fromEntries(named) as RewardWeights;
}

/** The user's weights; all of them 0 is refused. */
export function usersWeights(given: NonNullable<RunRequest["objectives"]>): RewardWeights {
  const sum = WEIGHTS.reduce((total, name) => total + (given[name] ?? 0), 0);
  if (!(sum > 0)) {
    throw new UsageError(
      `Cannot weigh the objectives as at least one weight must be above 0: ` +
        `they are ${JSON.stringify(given)}`,
    );
  }
  return scaled(given, sum);
}

/** "accuracy 0.6, latency 0.2": the weights in words, as reports and advice say them. */
export function weightsText(weights: RewardWeights): string {
  return WEIGHTS.flatMap((name) => {
    const words = name === "co2" ? "CO2" : name;
    const weight = weights[name];
    // Weights are scaled to sum to 1: three digits say what a reader wants of them.
    return weight === undefined || weight === 0
      ? []
      : [`${words} ${Number(weight.toPrecision(3))}`];
  }).join(", ");
}

/** The user's weights where given, else those of what the front names, and of nothing else. */
export function rewardWeights(
  { primary_objective, objectives }: Pick<Spec, "primary_objective" | "objectives">,
  given: RunRequest["objectives"],
): RewardWeights {
  if (given !== undefined) return usersWeights(given);
  const named = WEIGHTS.filter((name) =>
    objectives.some(({ metric }) => metricOf(metric)?.weight === name)
  );
  const importance = IMPORTANCE[primary_objective];
  const sum = named.reduce((total, name) => total + importance[name], 0);
  return scaled(Object.fromEntries(named.map((name) => [name, importance[name]])), sum);
}
