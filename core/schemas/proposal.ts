import { z } from "zod";
import { Action, Origin, ResolvedAction } from "./action.ts";
import { FailureKind } from "./failure.ts";
import { TrialState } from "./trial.ts";

/** What is left of a study's limits. Null: no limit is set. */
export const SearchBudget = z.strictObject({
  seconds_left: z.number().nullable().describe("of the budget or of the GPU hours"),
  trials_left: z.int().nullable(),
  full_evaluations_left: z.int(),
});
export type SearchBudget = z.infer<typeof SearchBudget>;

/** A trial of an earlier study of a model of the same architecture, as far as a sampler weighs it. */
export const EarlierTrial = z.strictObject({
  study_id: z.string(),
  trial_id: z.string(),
  model_name: z.string(),
  dataset: z.string(),
  actions: z.array(ResolvedAction.omit({ resolved: true })),
  state: TrialState,
  fidelity: z.string().nullable(),
  failure_kind: FailureKind.nullable(),
  reward: z.number().nullable().describe("under the weights of its own study"),
  figures: z.record(
    z.string(),
    z.strictObject({ value: z.number(), baseline: z.number().nullable() }),
  ).describe("by metric: the trial's figure and its own baseline's"),
  // Absent in old records.
  parameters: z.number().optional().describe("of its model"),
  dataset_class: z.string().optional(),
  max_accuracy_drop: z.number().optional().describe("that its study allowed"),
});
export type EarlierTrial = z.infer<typeof EarlierTrial>;

/** A sampler's answer: a recipe, and why. */
export const Answer = z.strictObject({
  actions: z.array(Action).min(1),
  origin: Origin.omit({ sampler: true }),
});
export type Answer = z.infer<typeof Answer>;

/** What a sampler was shown, in brief: trials are frozen, so that their ids name what it saw. */
export const Shown = z.strictObject({
  hash: z.string().describe("FNV-1a, 64 bits, over everything that it was shown as data"),
  trials: z.array(z.string()).describe("trial ids"),
  front: z.array(z.string()).describe("trial ids, best reward first"),
  under_way: z.array(z.string()).describe("trial ids"),
  earlier_studies: z.array(z.string()),
  budget: SearchBudget,
});
export type Shown = z.infer<typeof Shown>;

/** One asking of a sampler. */
export const Proposed = z.strictObject({
  type: z.literal("proposed"),
  at: z.string(),
  study_id: z.string(),
  number: z.int().describe("of the episode that it was asked for"),
  ask: z.int().describe("from 0: how often samplers were asked before in this episode"),
  sampler: z.string(),
  shown: Shown,
  answer: Answer.nullable().describe("null: it had none"),
  failure: z.string().nullable().describe("why it gave none, where it failed"),
  seconds: z.number().describe("that it took"),
});
export type Proposed = z.infer<typeof Proposed>;

/** Trials of earlier studies that a study's samplers are shown; as long as the study lives. */
export const EarlierTrialsGiven = z.strictObject({
  type: z.literal("earlier_trials_given"),
  at: z.string(),
  study_id: z.string(),
  trials: z.array(EarlierTrial),
});
