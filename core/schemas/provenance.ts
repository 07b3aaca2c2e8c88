import { z } from "zod";
import { Fidelity } from "./fidelity.ts";

/** Where a study was run: what a reader needs to run it again. */
export const Provenance = z.strictObject({
  command: z.string(),
  code_commit: z.string().nullable(),
  pare_version: z.string(),
  environments: z.record(z.string(), z.string()).describe(
    'environment: hash of its pins; "override": an interpreter that the user names',
  ),
  model_revision: z.string().nullable(),
});
export type Provenance = z.infer<typeof Provenance>;

const Figure = z.number().or(z.nan()).or(z.literal([Infinity, -Infinity])).nullable();

/** One figure of a trial beside the same figure of its repetition. */
export const Drift = z.strictObject({
  metric: z.string().describe(
    "artifact: its files that have the same bytes; answers: samples answered alike; else a measurement",
  ),
  task: z.string().nullable(),
  fidelity: Fidelity.nullable().describe("null: of the artifact"),
  unit: z.string(),
  recorded: Figure,
  again: Figure.describe("null: the repetition has no such figure"),
  interval: z.tuple([z.number(), z.number()]).nullable().describe(
    "95 % of all the trial's figures together, where another reading lies; null: no error is recorded",
  ),
  verdict: z.enum(["equal", "within_noise", "different", "not_compared"]),
  reason: z.string().nullable().describe("why it is not compared, or what is missing"),
});
export type Drift = z.infer<typeof Drift>;

/** What a repetition was made with that the recorded trial was not. */
export const Difference = z.strictObject({
  what: z.enum(["code", "environment", "model", "data", "samples", "hardware", "recipe"]),
  name: z.string(),
  recorded: z.string().nullable(),
  again: z.string().nullable(),
});
export type Difference = z.infer<typeof Difference>;

/** A recorded trial that was run again. */
export const Reproduced = z.strictObject({
  type: z.literal("reproduced"),
  at: z.string(),
  study_id: z.string(),
  trial_id: z.string(),
  reproduction_id: z.string(),
  state: z.string().describe("of the repetition's trial, such as completed"),
  differences: z.array(Difference),
  drift: z.array(Drift),
});
export type Reproduced = z.infer<typeof Reproduced>;
