import { z } from "zod";
import { Fidelity } from "../fidelity.ts";
import { Measurement } from "../measurement.ts";
import { Reward } from "../trial.ts";

/** A file that a worker wrote beside a samples file. */
const Beside = z.strictObject({
  name: z.string().describe("of the file, in the folder of the samples file"),
  rows: z.int(),
  sha256: z.string(),
});

/** What a scorer made of a task's answers. */
export const ScoredTask = z.strictObject({
  task: z.string(),
  scorer: z.string(),
  scorer_version: z.string(),
  params: z.record(z.string(), z.unknown()),
  measurements: z.array(Measurement),
  scores: Beside.describe("Parquet of ScoreRow"),
  verdicts: Beside.nullable().describe("Parquet of VerdictRow; null: no judge was asked"),
  judged: z.strictObject({
    judges: z.array(z.string()).min(1).describe("as their servers name them"),
    rubric: z.string().nullable(),
    rubric_version: z.string().nullable(),
  }).nullable().optional().describe("by whom; null or absent: no judge was asked, or long ago"),
});
export type ScoredTask = z.infer<typeof ScoredTask>;

/** A file of the store that a record holds the hash of. */
const Kept = z.strictObject({
  path: z.string().describe("relative to the store"),
  rows: z.int(),
  sha256: z.string(),
});

/** Record: a scorer beside a task's own has scored kept answers. A later one stands beside it. */
export const AnswersScored = ScoredTask.extend({
  type: z.literal("scored"),
  at: z.string(),
  study_id: z.string(),
  trial_id: z.string(),
  fidelity: Fidelity,
  samples_sha256: z.string().describe("of the samples file whose answers were scored"),
  protocol: z.string().nullable().describe(
    "hash over that of the answers and the scorer; equal ones may be compared; null: the answers have none",
  ),
  scores: Kept,
  verdicts: Kept.nullable(),
});
export type AnswersScored = z.infer<typeof AnswersScored>;

/**
 * Record: kept answers were scored again by one scorer, in every trial and on every rung that has some.
 * One record, so that no trial is compared with a baseline that is scored otherwise. It follows the `scored`
 * records of the files that it names.
 */
export const ScoredAgain = z.strictObject({
  type: z.literal("scored_again"),
  at: z.string(),
  study_id: z.string(),
  task: z.string(),
  scorer: z.string(),
  scorer_version: z.string(),
  params: z.record(z.string(), z.unknown()),
  beside_because: z.string().nullable().describe(
    "why the figures stand beside the task's own; null: they take the place of the earlier ones",
  ),
  own_metric: z.string().nullable().describe(
    "the metric that samples are scored by from now on; null: each keeps its score",
  ),
  trials: z.array(z.strictObject({
    trial_id: z.string(),
    fidelity: Fidelity,
    samples: Kept.describe("of the evaluation"),
    scores: Kept.describe("Parquet of ScoreRow"),
    protocol: z.string().nullable().describe("hash of the task's protocol with this scorer"),
    protocol_part: z.string().nullable().describe("the scorer among its parts; null: it is none"),
    measurements: z.array(Measurement).describe("of the task, and over all tasks where they count"),
    replaced: z.array(Measurement).describe("the trial's figures whose place they take"),
  })),
  rewards: z.array(z.strictObject({ trial_id: z.string(), reward: Reward })).describe(
    "that follow; verdicts, gates and what was recommended stay as they were decided",
  ),
});
export type ScoredAgain = z.infer<typeof ScoredAgain>;

/** A number as it was given: NaN and the infinities are scores too. */
const Given = z.number().or(z.nan()).or(z.literal([Infinity, -Infinity]));

/** What a scorer gave one sample by one metric. */
export const ScoreRow = z.strictObject({
  task: z.string(),
  sample_id: z.string(),
  sample_hash: z.string(),
  scorer: z.string(),
  scorer_version: z.string(),
  metric: z.string(),
  score: Given.nullable().describe("null: it could not be told, `why` says"),
  parsed_answer: z.string().nullable().describe("what the scorer read from the answer"),
  why: z.string().nullable().describe("there is no score; null: there is one"),
});
export type ScoreRow = z.infer<typeof ScoreRow>;

/** What a judge said to one question about one answer. */
export const VerdictRow = z.strictObject({
  task: z.string(),
  sample_id: z.string(),
  sample_hash: z.string(),
  scorer: z.string(),
  scorer_version: z.string(),
  question: z.string().describe("what was asked of the answer, such as truth"),
  judge: z.string().describe("the model, as its server names it"),
  prompt_hash: z.string().nullable().describe("of the prompts that it was asked by"),
  rubric_version: z.string().nullable().describe("null: it goes by no rubric"),
  verdict: z.string().nullable().describe("what was read from its words; null: nothing"),
  score: Given.nullable(),
  reply: z.string().nullable().describe("its own words"),
  prompt_tokens: z.int().nullable().describe("null: its server does not say"),
  reply_tokens: z.int().nullable(),
  cost: z.number().nullable().describe("US dollars; null: nobody counts"),
  obtained: z.enum(["asked", "mended", "asked_again", "rule"]).nullable().default(null).describe(
    "read as it was asked for, mended once, asked again by a shorter prompt, or by the task's rule",
  ),
  cut_characters: z.int().nullable().default(null).describe("of what the judge was shown"),
});
export type VerdictRow = z.infer<typeof VerdictRow>;
