import { z } from "zod";
import { unknownName, UsageError } from "../errors.ts";
import { comparableStudy } from "../front/comparable.ts";
import { frontOf } from "../front/objectives.ts";
import { rewardOfTrial } from "../front/reward.ts";
import { type WeightName, WEIGHTS } from "../metrics/metric_table.ts";
import type { RewardWeights } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { rewardWeights } from "../spec/reward_weights.ts";
import {
  choiceOf,
  doubtOf,
  recommend,
  type Recommendation,
  type RecommendInput,
} from "./recommend.ts";

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
  return input.trials.map((trial) => ({
    ...trial,
    reward: rewardOfTrial(trial, baseline, { spec, facts }) ?? trial.reward,
  }));
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
  const weights = rewardWeights(input.spec, given);
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

/** A trial of the choice: what a page weighs without the study. */
export interface WeighableTrial {
  readonly trial_id: string;
  readonly number: number;
  /** How sure it is that it meets every constraint, 0 the surest: as `recommend()` ranks. */
  readonly doubt: number;
  /** Value over the baseline's, by term; a term that was not measured is absent. */
  readonly terms: Partial<Record<WeightName, number>>;
  /** What is taken off whatever the weights are. */
  readonly penalty: number;
}

/**
 * All that the recommendation depends on but the weights: with them it is the candidate with the best
 * reward above the baseline's (accuracy × its weight − each cost × its weight − penalty), those of less
 * doubt before the others, then the lower number.
 */
export interface Weighable {
  /** Those of the study, scaled to sum to 1. */
  readonly weights: RewardWeights;
  readonly baseline: WeighableTrial;
  /** Something is nowhere worse than the baseline: a candidate of equal reward is chosen over it. */
  readonly dominated: boolean;
  readonly candidates: readonly WeighableTrial[];
}

/** What a choice by weights needs; null: no weights could choose a trial. */
export function weighable(input: WeighInput): Weighable | null {
  const measured = input.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  if (measured === undefined) return null;
  // Every term with some weight, so that each has its ratio; the front is the same under any.
  const each = Object.fromEntries(WEIGHTS.map((name) => [name, 1])) as RewardWeights;
  const study = comparableStudy(reweighed(input, measured, each), input.spec);
  const { baseline, compressed, front, tells_nothing } = choiceOf(study, measured);
  const own = termsOf(baseline, 0);
  if (tells_nothing || !isNumber(own)) return null;
  return {
    weights: input.spec.reward_weights,
    baseline: own,
    dominated: !front.members.some(({ trial }) => trial.number === baseline.number),
    candidates: front.members.map(({ trial }) => trial)
      .filter(({ number, reward }) => number !== baseline.number && reward !== null)
      .map((trial) => termsOf(trial, doubtOf(trial, compressed))).filter(isNumber), // a reward that is no number is above no other
  };
}

function isNumber({ terms, penalty }: WeighableTrial): boolean {
  return [...Object.values(terms), penalty].every(Number.isFinite);
}

function termsOf(trial: Trial, doubt: number): WeighableTrial {
  const terms = trial.reward?.terms ?? [];
  const taken = terms.filter(({ term }) => term === "penalty");
  const ratios = terms.filter(({ term, normalised }) => term !== "penalty" && normalised !== null)
    .map(({ term, normalised }) => [term, normalised]);
  return {
    trial_id: trial.trial_id,
    number: trial.number,
    doubt,
    terms: Object.fromEntries(ratios),
    penalty: taken.reduce((sum, { contribution }) => sum - contribution, 0),
  };
}

/** The profile of a name; an unknown one is refused with the nearest. */
export function profileOf(name: string, profiles: readonly WeightProfile[]): WeightProfile {
  const found = profiles.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("profile", name, profiles.map((one) => one.name)));
}
