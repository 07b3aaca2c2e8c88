import { z } from "zod";
import { WEIGHTS } from "../metrics/metric_table.ts";
import { KnobValue, ResolvedAction, Strategy } from "./action.ts";
import { Failure } from "./failure.ts";
import { Fidelity } from "./fidelity.ts";
import { Measurement } from "./measurement.ts";
import { Provenance } from "./provenance.ts";

/** What a verdict on quality rests on, where it was reached by looking after every batch of samples. */
export const SequentialEvidence = z.strictObject({
  samples: z.int().describe("taken, in the order that all trials share"),
  existing: z.int().nullable().describe("of the benchmark; null: nobody knows"),
  decided_at: z.int().nullable().describe(
    "samples after which the verdict stood; null: it is open",
  ),
  exact: z.boolean().describe("all that exist were needed: the verdict is their own mean's"),
  p_within: z.number().optional().describe(
    "at most so probable, at any look: samples that speak so much for the limit, were it broken; " +
      "absent in old records",
  ),
  predictor: z.enum(["likelihoods", "answers"]).optional().describe(
    "what the original's own answers to all samples, and how sure it was of them, took off the " +
      "differences before they were judged; absent: nothing, as in old records",
  ),
  explained: z.number().optional().describe(
    "share of the differences' variance that it took off; absent: there is no predictor",
  ),
});
export type SequentialEvidence = z.infer<typeof SequentialEvidence>;

export const ConstraintVerdict = z.strictObject({
  constraint: z.string(),
  threshold: z.number(),
  value: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
  verdict: z.enum(["met", "violated", "undecided", "unmeasured"]),
  samples_to_decide: z.int().nullable(),
  evidence: SequentialEvidence.optional().describe(
    "absent in old records, and of what is not decided by samples from 0 to 1",
  ),
});
export type ConstraintVerdict = z.infer<typeof ConstraintVerdict>;

export const RewardTerm = z.strictObject({
  term: z.enum([...WEIGHTS, "penalty"]),
  weight: z.number(),
  normalised: z.number().nullable().describe("value / baseline; null = not measured, left out"),
  contribution: z.number(),
  note: z.string().nullable(),
});
export type RewardTerm = z.infer<typeof RewardTerm>;

export const Reward = z.strictObject({ value: z.number(), terms: z.array(RewardTerm) });
export type Reward = z.infer<typeof Reward>;

export const GateDecision = z.strictObject({
  gate: z.string(),
  decision: z.enum(["pass", "retry", "roll_back", "abort"]),
  reason: z.string(),
  value: z.number().nullable(),
  threshold: z.number().nullable(),
  // Absent in old records.
  action_index: z.int().optional().describe(
    "number of the action that it is about, from 0: the last applied, or the one that was tried; " +
      "absent before any",
  ),
  attempt: z.int().optional().describe("from 1: how often that was tried"),
  artifact_id: z.string().optional().describe("that was judged; absent where none was made"),
  parent_id: z.string().nullable().optional().describe("what a roll-back goes back to"),
  adjustment: z.record(z.string(), KnobValue).optional().describe(
    "knobs that the next attempt sets anew; absent: none",
  ),
  samples: z.int().optional().describe("that it rests on; absent in old records"),
  expected: z.int().optional().describe(
    "samples that were told to decide before any was read; absent: nothing was told",
  ),
  unread: z.int().optional().describe(
    "samples of the rung that it made needless; absent: it was asked after all of them",
  ),
  dominated_by: z.string().optional().describe(
    "trial id of the member of the front that most likely dominates it; absent: of no such gate",
  ),
});
export type GateDecision = z.infer<typeof GateDecision>;

/** `completed` was measured, on its last rung or an earlier one; `stopped` ended at a gate; `invalid` never ran. */
export const TrialState = z.enum([
  "running",
  "completed",
  "stopped",
  "invalid",
  "failed",
  "cancelled",
]);
export type TrialState = z.infer<typeof TrialState>;

/** How long one phase of a trial took, and whether a library did the work. Seconds. */
export const Span = z.strictObject({
  name: z.string().describe("such as import, load, quantize, write, verify, evaluate, speed"),
  seconds: z.number(),
  library: z.boolean().describe("true where the time is a library's own work"),
  phase: z.string().optional().describe(
    "of the loop: apply, speed or the rung of an evaluation; absent in old records and of the loop's own time",
  ),
  action_index: z.int().optional().describe(
    "number of the action that it worked on, from 0; absent in old records and where all are done",
  ),
});
export type Span = z.infer<typeof Span>;

/** One strategy run once. Frozen when its state is no longer `running`. */
export const Trial = z.strictObject({
  trial_id: z.string().describe("readable, such as study-name/t03"),
  study_id: z.string(),
  number: z.int().describe("0 is the baseline's first measurement"),
  strategy: Strategy.nullable().describe("null for the baseline"),
  actions: z.array(ResolvedAction),
  artifact_ids: z.array(z.string()).describe("one per action, in order"),
  state: TrialState,
  fidelity: Fidelity.nullable().describe("the highest rung that it reached"),
  failure: Failure.nullable(),
  measurements: z.array(Measurement),
  constraints: z.array(ConstraintVerdict),
  gates: z.array(GateDecision),
  reward: Reward.nullable(),
  spans: z.array(Span),
  seed: z.int(),
  provenance: Provenance.optional().describe("of the run that opened it; absent in old records"),
  started_at: z.string(),
  finished_at: z.string().nullable(),
});
export type Trial = z.infer<typeof Trial>;
