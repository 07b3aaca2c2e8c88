import { z } from "zod";
import { KnobValue } from "./action.ts";
import { TrialState } from "./trial.ts";

/** Where a run was tracked before it came here. */
export const ImportSource = z.enum(["optuna", "lm_eval", "mlflow"]);
export type ImportSource = z.infer<typeof ImportSource>;

/** NaN and the infinities are results too. */
const ImportedNumber = z.number().or(z.nan()).or(z.literal([Infinity, -Infinity]));

/** What a run was given. */
export const ImportedParam = z.strictObject({
  param: z.string(),
  value: KnobValue.nullable(),
  distribution: z.string().nullable().describe(
    "what it was drawn from, such as float 0.001 to 0.1 log; null: not known",
  ),
});
export type ImportedParam = z.infer<typeof ImportedParam>;

/** A run's figure as it stood at the end. What the source does not say is null, never guessed. */
export const ImportedMeasurement = z.strictObject({
  metric: z.string(),
  value: ImportedNumber,
  unit: z.string().nullable(),
  direction: z.enum(["maximize", "minimize"]).nullable(),
  n: z.int().nullable().describe("samples or repeats behind the value"),
  standard_error: ImportedNumber.nullable(),
  task: z.string().nullable(),
  task_version: z.string().nullable(),
  slice: z.string().nullable().describe("part of a task, such as an lm-eval filter"),
  few_shot: z.int().nullable().describe("worked examples in the prompt"),
  objective: z.int().nullable().describe("its place among the study's objectives; null: none"),
});
export type ImportedMeasurement = z.infer<typeof ImportedMeasurement>;

/** A step; a text where a number would lose digits, as of nanoseconds that were logged for steps. */
export const ImportedStep = z.int().or(z.string().regex(/^-?\d{16,19}$/));
export type ImportedStep = z.infer<typeof ImportedStep>;

/** A metric over steps, in columns of one length. */
export const ImportedSeries = z.strictObject({
  metric: z.string(),
  steps: z.array(ImportedStep),
  values: z.array(ImportedNumber),
  times: z.array(z.number()).nullable().describe("milliseconds since 1970; null: not known"),
}).refine(
  ({ steps, values, times }) =>
    steps.length === values.length && (times === null || times.length === steps.length),
  "steps, values and times must be as long as each other",
);
export type ImportedSeries = z.infer<typeof ImportedSeries>;

/** A run that another tracker kept. `source` and `source_id` are its identity. */
export const ImportedRun = z.strictObject({
  source: ImportSource,
  source_id: z.string().min(1).describe("the run's identity there; no path, as files are moved"),
  location: z.string().describe("file, folder or server it was read from; never a secret"),
  study_id: z.string().describe("the study that it stands in here"),
  study_name: z.string().describe("study, experiment or folder, as the source calls it"),
  trial_id: z.string(),
  number: z.int(),
  name: z.string(),
  parent_id: z.string().nullable().describe("source_id of the run that it is nested in"),
  state: TrialState,
  failure_message: z.string().nullable(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  params: z.array(ImportedParam),
  measurements: z.array(ImportedMeasurement),
  series: z.array(ImportedSeries),
  tags: z.record(z.string(), z.string()),
});
export type ImportedRun = z.infer<typeof ImportedRun>;

/** One run of another tracker. Part 0 replaces what an earlier import of it wrote. */
export const RunImported = z.strictObject({
  type: z.literal("run_imported"),
  at: z.string(),
  part: z.int().min(0).describe("a part above 0 only adds series: long ones span records"),
  content_hash: z.string().nullable().describe(
    "sha256 of the whole run, in its last part only: an unchanged one is not taken again",
  ),
  ...ImportedRun.shape,
});
export type RunImported = z.infer<typeof RunImported>;
