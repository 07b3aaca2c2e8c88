import { z } from "zod";
import { Fidelity } from "../fidelity.ts";

const Interval = z.tuple([z.number(), z.number()]).nullable().describe(
  "95 %; null: too few answers",
);

const Estimate = z.strictObject({ value: z.number(), interval: Interval });

/** What a judge's scores were held against. */
export const AGAINST = ["labels", "rule", "second_judge", "again"] as const;

const Agreed = z.strictObject({
  against: z.enum(AGAINST),
  n: z.int().describe("answers that both scored"),
  same: z.number().describe("share of them with one score"),
  difference: Estimate.describe("the judge's score less the other, mean"),
  kappa: Estimate.nullable().describe("Cohen's, weighted by squares; null: not defined"),
  alpha: Estimate.nullable().describe("Krippendorff's, of intervals; null: not defined"),
});

/** How good a judge was found to be on the answers of one trial. */
export const JudgeCheck = z.strictObject({
  trial_id: z.string(),
  fidelity: Fidelity,
  task: z.string(),
  scorer: z.string(),
  scorer_version: z.string(),
  metric: z.string(),
  rubric_version: z.string().nullable(),
  judges: z.array(z.string()).min(1),
  answers: z.int().describe("that were judged"),
  obtained: z.record(z.string(), z.int()).describe("verdicts, by how they were come by"),
  labels: z.int().describe("answers that people labelled; 0: none"),
  gold_sha256: z.string().nullable().describe("of the file of labels"),
  labellers: Estimate.nullable().describe("Krippendorff's alpha among people; null: one a label"),
  agreement: z.array(Agreed),
  position: z.strictObject({
    pairs: z.int(),
    consistent: z.number().describe("share with one winner in both orders"),
    bias: z.number().nullable().describe("first less second of what the place decided"),
    p: z.number().nullable().describe("two-sided sign test"),
  }).nullable().describe("null: nothing was judged in pairs"),
  length: Estimate.nullable().describe("what twice the length gains beyond the label or the rule"),
  own: z.strictObject({
    own: Estimate,
    others: Estimate.nullable(),
    more: Estimate.nullable(),
  }).nullable().describe("what it gives its own answers beyond their worth; null: none is its own"),
  corrected: z.strictObject({
    score: z.number(),
    interval: z.tuple([z.number(), z.number()]),
    labels_score: z.number(),
    labels_interval: z.tuple([z.number(), z.number()]),
    judged: z.number().describe("the judge's own mean"),
    lambda: z.number(),
    because: z.string().nullable().describe("why the judge's scores do not count; null: they do"),
  }).nullable().describe("null: fewer than ten labels"),
});
export type JudgeCheck = z.infer<typeof JudgeCheck>;

/** Record: a judge was held against labels, the rule, another judge, itself. A later one stands beside. */
export const JudgeChecked = JudgeCheck.extend({
  type: z.literal("judge_checked"),
  at: z.string(),
  study_id: z.string(),
});
