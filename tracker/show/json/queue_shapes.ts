import { z } from "zod";
import { PRIORITIES } from "../../../core/mod.ts";

const moment = z.string().nullable();

/** A job of the queue. */
export const QueuedJob = z.strictObject({
  job_id: z.string(),
  title: z.string(),
  priority: z.enum(PRIORITIES),
  section: z.enum(["running", "queued", "blocked", "ended"]),
  state: z.string(),
  reason: z.string().describe("why it stands where it does"),
  place: z.int().describe("in the line of its priority, from 1; 0: it is not in line"),
  study_id: z.string(),
  store: z.string(),
  model_name: z.string(),
  dataset: z.string(),
  kind: z.string().describe("of run"),
  engine: z.string().nullable(),
  machine: z.string().nullable().describe("kind of machine"),
  attempt: z.int().describe("0: it had none"),
  progress: z.number().nullable().describe("share that is done, from 0 to 1"),
  progress_said: z.string().nullable(),
  submitted_at: z.string(),
  begins_at: moment,
  ends_at: moment.describe("as expected, or as it was; null: nobody can say"),
  ends_between: z.tuple([z.string(), z.string()]).readonly().nullable().describe(
    "in two of three cases, as jobs of its kind and size differ; null: none was measured",
  ),
  estimate_seconds: z.number(),
  estimate_source: z.enum(["measured", "said", "budget", "usual"]),
  price: z.number().nullable().describe(
    "of its attempts up to now, in the currency of engines.yaml; null: no price is said",
  ),
  criteria: z.array(z.strictObject({ text: z.string(), verdict: z.string().nullable() }))
    .readonly(),
});

const ChecklistLine = z.strictObject({
  check: z.string(),
  ok: z.boolean().nullable().describe("null: it was looked at and decides nothing"),
  said: z.string(),
});

/** A job with its attempts, and what was looked at before and after each. */
export const JobCard = QueuedJob.extend({
  attempts: z.array(z.object({
    number: z.int(),
    engine: z.string(),
    machine: z.string(),
    handle: z.string().nullable(),
    how: z.string().nullable().describe("null: it is under way"),
    code: z.int().nullable(),
    reason: z.string(),
    seconds: z.number().nullable(),
    checklist: z.strictObject({
      before: z.array(ChecklistLine).readonly().optional(),
      after: z.array(ChecklistLine).readonly().optional(),
    }),
  })),
});

/** A compute budget in hours. */
export const Budget = z.strictObject({
  machine: z.string().nullable().describe("null: all"),
  study: z.string().nullable().describe("null: all"),
  hours: z.number().describe("available in all"),
  reserve_hours: z.number(),
  spent: z.number(),
  under_way: z.number(),
  waiting: z.number(),
  price: z.number().nullable().describe("of its attempts; null: no price is said"),
  left: z.number(),
});
