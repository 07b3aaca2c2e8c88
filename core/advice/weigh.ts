import { z } from "zod";
import { unknownName, UsageError } from "../errors.ts";
import { comparableStudy } from "../front/comparable.ts";
import { frontOf } from "../front/objectives.ts";
import { rewardOf } from "../front/reward.ts";
import { WEIGHTS } from "../metrics/metric_table.ts";
import type { RewardWeights } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { rewardWeights } from "../spec/reward_weights.ts";
import { recommend, type Recommendation, type RecommendInput } from "./recommend.ts";

/** Weights by name, with what they are for: data that a user reads and changes. */
export const WeightProfile = z.strictObject({
  name: z.string().min(1),
  describes: z.string().describe("for whom, in a sentence"),
  weights: z.partialRecord(z.enum(WEIGHTS), z.number().min(0)),
});
export type WeightProfile = z.infer<typeof WeightProfile>;

export const WeightProfiles = z.array(WeightProfile);

/** What is asked again: a study's trials, measured, with whatever rewards. */
export type WeighInput = Omit<RecommendInput, "baseline">;

/** A study's trials under other weights. */
export interface Weighed {
  /** Scaled to sum to 1. */
  readonly weights: RewardWeights;
  readonly recommendation: Recommendation;
  /** Trials of the front, the best reward first; the baseline among them where it is on it. */
  readonly ranking: readonly { readonly trial_id: string; readonly reward: number | null }[];
  /** Terms that a weight has no figure for, each with the reason. */
  readonly left_out: readonly string[];
}

function reweighed(input: WeighInput, baseline: Trial, weights: RewardWeights): Trial[] {
  const { facts } = input;
  const spec = { ...input.spec, reward_weights: weights };
  return input.trials.map((trial) => {
    if (trial.reward === null || trial.fidelity === null) return trial;
    const { fidelity, measurements, constraints, state } = trial;
    const of = { spec, facts, fidelity, measurements, constraints };
    const reward = rewardOf({
      ...of,
      baseline: baseline.measurements,
      stopped: state === "stopped",
    });
    return { ...trial, reward };
  });
}

/**
 * Weighs a study's trials anew, by what was measured: nothing is run and nothing recorded. The front is
 * the same, as no weight is in it; which of its points is picked follows from the weights.
 */
export function weigh(
  input: WeighInput,
  given: Partial<Record<(typeof WEIGHTS)[number], number>>,
): Weighed {
  const baseline = input.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  if (baseline === undefined) {
    throw new UsageError("Cannot weigh this study as its baseline was not measured to the end");
  }
  const weights = rewardWeights(input.spec.primary_objective, given);
  const trials = reweighed(input, baseline, weights);
  const spec = { ...input.spec, reward_weights: weights };
  const again = trials.find(({ number }) => number === baseline.number)!;
  const recommendation = recommend({ ...input, spec, trials, baseline: again });
  const { members } = frontOf(comparableStudy(trials, spec));
  const notes = members.flatMap(({ trial }) => trial.reward?.terms ?? [])
    .filter(({ weight, normalised, term }) =>
      term !== "penalty" && weight > 0 && normalised === null
    )
    .map(({ term, note }) => `${term}: ${note ?? "not measured"}`);
  return {
    weights,
    recommendation,
    ranking: members.map(({ trial }) => ({
      trial_id: trial.trial_id,
      reward: trial.reward?.value ?? null,
    })),
    left_out: [...new Set(notes)],
  };
}

/** The profile of a name; an unknown one is refused with the nearest. */
export function profileOf(name: string, profiles: readonly WeightProfile[]): WeightProfile {
  const found = profiles.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("profile", name, profiles.map((one) => one.name)));
}
