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

/** What a part of the original loses with all of its layers in one format: their scores added up. */
export const FormatLoss = z.strictObject({
  study_id: z.string().describe("that scored the layers"),
  part: z.enum(["linear", "embedding"]).describe("embedding: the output head, too"),
  format: z.string().describe("as in layer_sensitivity"),
  weight_bits: z.number().positive().describe("bits per weight with scales and zero points"),
  kl: z.number().describe("nats per token, each layer rounded alone"),
});
export type FormatLoss = z.infer<typeof FormatLoss>;

/** What formats cost the study's original, as its samplers are shown it; as long as the study lives. */
export const FormatLossesGiven = z.strictObject({
  type: z.literal("format_losses_given"),
  at: z.string(),
  study_id: z.string(),
  losses: z.array(FormatLoss),
});

/** How likely a method is to do better than the study's other recipes, as a Beta distribution. */
export const MethodBelief = z.strictObject({
  agent: z.string(),
  method: z.string(),
  trials: z.int().describe("of this study that moved it"),
  alpha: z.number().positive(),
  beta: z.number().positive(),
});
export type MethodBelief = z.infer<typeof MethodBelief>;

export const ChatMessage = z.strictObject({
  role: z.enum(["system", "user", "assistant"]),
  content: z.string(),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

/** One exchange with the study's language model, and what became of its answer. */
export const Consulted = z.strictObject({
  type: z.literal("consulted"),
  at: z.string(),
  study_id: z.string(),
  number: z.int().describe("of the episode that it was asked for"),
  ask: z.int().describe("as of the proposal that it is part of"),
  exchange: z.int().describe("from 0: how often the model was asked before in this asking"),
  sampler: z.string(),
  base_url: z.string().describe("of the endpoint; its key is kept nowhere"),
  model: z.string().nullable().describe("as the endpoint names it; null: it was not reached"),
  messages: z.array(ChatMessage).describe("those added since the exchange before"),
  evidence: z.array(z.string()).describe("ids of the trials that it was told of"),
  reply: z.string().nullable().describe("null: none came"),
  outcome: z.enum(["proposed", "refused", "failed"]).describe(
    "proposed: a recipe that can run; refused: the answer is none; failed: no answer came",
  ),
  reason: z.string().nullable().describe("why it was refused or failed"),
  seconds: z.number().describe("that the answer took"),
});
export type Consulted = z.infer<typeof Consulted>;
