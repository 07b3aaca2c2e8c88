/**
 * What a queue's journal holds: a line an event, appended under the queue's lock, read for ever. The
 * state of the queue is what `reduce` of queue_state.ts makes of them in their order.
 */
import { z } from "zod";

/** P0 begins at once and stops what is in its way, P1 goes in order, P2 when nothing else waits. */
export const PRIORITIES = ["P0", "P1", "P2"] as const;
export type Priority = typeof PRIORITIES[number];

const JobId = z.string().regex(
  /^EXP-\d{3,}$/,
  "a job is called EXP- and its number, such as EXP-047",
);
const Reason = z.string().min(1).describe("in words that a person reads; no full stop");

/** Slots of engine.ts, as the journal keeps them. */
const JobSlots = z.strictObject({
  cpu: z.number().nonnegative().describe("threads"),
  gpu: z.int().nonnegative().describe("whole cards"),
  memory_gb: z.number().nonnegative().nullable().describe("main memory; null: nobody said"),
});

/** One condition that a job's results must meet. */
const Criterion = z.strictObject({
  text: z.string().min(1).describe("as a person wrote it, such as `accuracy drop decided ≤ 0.02`"),
  parsed: z.record(z.string(), z.unknown()).nullable().describe(
    "metric, goal and limit, for whoever judges it; null: a person judges it",
  ),
});

/** What a person, a command or the board asks the queue to run. */
export const Submission = z.strictObject({
  submission_id: z.string().min(1).describe(
    "given by who submits; the same one again adds nothing",
  ),
  title: z.string().min(1),
  priority: z.enum(PRIORITIES),
  work: z.record(z.string(), z.unknown()).describe("what the tracker needs to run it"),
  work_kind: z.string().min(1).describe(
    "such as `search` or `longbench`; with size the key of estimates",
  ),
  size: z.string().describe("what of its kind takes about the same time; empty: all of it does"),
  study: z.string().nullable().describe("whose budget it is charged to; null: to none of its own"),
  slots: JobSlots,
  engine: z.string().nullable().describe("the one that it must run on; null: any"),
  after: z.array(z.strictObject({
    job_id: JobId,
    met: z.boolean().describe("it must have met its success criteria, too"),
  })),
  success: z.array(Criterion),
  estimate_seconds: z.number().positive().nullable().describe("null: as its kind and size say"),
  estimate_source: z.enum(["said", "budget"]).nullable().describe(
    "`said`: by a person; `budget`: the search has so long; null: there is none",
  ),
  may_be_saved: z.boolean().describe(
    "it ends in good order when asked, and goes on from there later",
  ),
  anyway: z.boolean().describe("it begins even where it cannot end within the compute budget"),
});
export type Submission = z.infer<typeof Submission>;

/** How an attempt came to its end. */
export const ENDS = [
  "done",
  "failed",
  "saved",
  "cancelled",
  "lost",
  "refused",
  "withdrawn",
] as const;
export type End = typeof ENDS[number];

/** What is done about a job without a person: `told` to one, where nothing else is left. */
const REMEDIES = [
  "retried",
  "restarted",
  "remedied",
  "collected",
  "paused",
  "told",
] as const;
export type Remedy = typeof REMEDIES[number];

const at = z.iso.datetime().describe("when it was appended");
const of_job = { at, job_id: JobId };
const of_attempt = { ...of_job, attempt: z.int().positive() };
/** By the clock of an attempt's own machine: whoever writes it down may come hours later. */
const own_moment = z.iso.datetime().optional();

/** `lost`: its holder is gone without a result. `refused`: the engine will never run it. `withdrawn`:
 * it was taken back before it began. */
const AttemptEnded = z.strictObject({
  type: z.literal("attempt_ended"),
  ...of_attempt,
  ended: own_moment.describe("when it was over; absent: as it was appended"),
  how: z.enum(ENDS),
  code: z.int().nullable().describe("of its process; null: it told none"),
  reason: Reason,
  seconds: z.number().nonnegative().describe("of its slots held, from its beginning"),
  left_behind: z.boolean().describe("its engine still holds it as alive and is to be told"),
  next: z.enum(["again", "done", "failed", "cancelled"]).describe("what becomes of its job"),
  not_before: z.iso.datetime().nullable().describe("of its next attempt; null: at once"),
});

/** Every event of a queue. */
export const JobEvent = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("queue_opened"),
    at,
    queue_id: z.string().regex(/^[0-9a-f]{8}$/).describe(
      "keeps ids of two queues on one engine apart",
    ),
  }),
  z.strictObject({ type: z.literal("submitted"), ...of_job, ...Submission.shape }),
  z.strictObject({
    type: z.literal("moved"),
    ...of_job,
    priority: z.enum(PRIORITIES),
    before: JobId.nullable().describe("the job it now stands before; null: at the end"),
  }),
  z.strictObject({ type: z.literal("held"), ...of_job, reason: Reason }),
  z.strictObject({ type: z.literal("released"), ...of_job }),
  z.strictObject({ type: z.literal("cancel_asked"), ...of_job, reason: Reason }),
  z.strictObject({ type: z.literal("told_anyway"), ...of_job }),
  z.strictObject({
    type: z.literal("missing"),
    ...of_job,
    reason: Reason.describe("what a machine found that it lacks: `data missing: qasper`"),
  }),
  z.strictObject({
    type: z.literal("criterion_judged"),
    ...of_job,
    index: z.int().nonnegative().describe("in the job's list of criteria"),
    verdict: z.enum(["met", "not_met", "undecided"]),
    reason: Reason,
  }),
  z.strictObject({
    type: z.literal("remedied"),
    ...of_job,
    reason: Reason.describe("what failed and what is now done about it"),
    work: Submission.shape.work.nullable().describe(
      "in place of the work as it was; null: the same",
    ),
    slots: JobSlots.nullable(),
    not_before: z.iso.datetime().nullable(),
  }),
  z.strictObject({
    type: z.literal("acted"),
    ...of_attempt,
    condition: z.string().min(1).describe("what was seen, such as `no progress`"),
    evidence: Reason,
    remedy: z.enum(REMEDIES),
    limit: z.string().min(1).nullable().describe("how often it is done; null: it has none"),
  }),
  z.strictObject({
    type: z.literal("budget_set"),
    at,
    machine: z.string().nullable().describe("kind of machine; null: all of them together"),
    study: z.string().nullable().describe("null: all work"),
    hours: z.number().nonnegative().nullable().describe(
      "available in all; null: no limit any more",
    ),
    reserve_hours: z.number().nonnegative().describe("of these, for attempts after a first one"),
  }),
  z.strictObject({
    type: z.literal("engine_seen"),
    at,
    engine: z.string(),
    machine: z.string(),
    total: JobSlots,
    largest: JobSlots,
    others: JobSlots.describe("taken by what is not of this queue"),
    price_per_hour: z.number().nonnegative().nullable().default(null).describe(
      "of all its slots, in its user's currency; null: nobody said",
    ),
  }),
  z.strictObject({ type: z.literal("engine_down"), at, engine: z.string(), reason: Reason }),
  z.strictObject({
    type: z.literal("attempt_planned"),
    ...of_attempt,
    engine: z.string(),
    machine: z.string(),
    slots: JobSlots,
    passes: z.array(JobId).describe("jobs that stood before it and wait for slots there"),
    reason: Reason,
  }),
  z.strictObject({
    type: z.literal("attempt_submitted"),
    ...of_attempt,
    handle: z.string().min(1).describe("the engine's own name of it"),
  }),
  z.strictObject({
    type: z.literal("attempt_began"),
    ...of_attempt,
    began: own_moment.describe("when its program began; absent: as it was appended"),
  }),
  z.strictObject({
    type: z.literal("save_asked"),
    ...of_attempt,
    reason: Reason,
    for_job: JobId.nullable().describe("that its slots go to; null: to none"),
  }),
  z.strictObject({
    type: z.literal("engine_told"),
    ...of_attempt,
    what: z.enum(["save", "cancel"]).describe("what its engine took on"),
  }),
  AttemptEnded,
]);
export type JobEvent = z.infer<typeof JobEvent>;
export type AttemptEnded = z.infer<typeof AttemptEnded>;
