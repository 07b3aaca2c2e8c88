import { z } from "zod";
import { KnobValue } from "../action.ts";

/** What a row of the ledger of a staged run is about. */
export const StageSubject = z.enum([
  "artifact", // whether what was made is what the stage was to make
  "size",
  "core", // retention of a core benchmark, or of their mean
  "expert",
  "cumulative",
  "critical",
  "edge_of_chaos",
  "ethics",
  "attempt", // what is done next
  "level", // a level of success of what is shipped
  "shipped",
]);
export type StageSubject = z.infer<typeof StageSubject>;

/** What was decided: of a check one of the first four, of an attempt one of the others. */
export const StageVerdict = z.enum([
  "passed",
  "failed",
  "undecided",
  "not_applicable",
  "advance",
  "retry",
  "roll_back",
  "skip",
  "abort",
  "ship",
]);
export type StageVerdict = z.infer<typeof StageVerdict>;

/** One row of the ledger of a staged run: the evidence, and what was decided by it. */
export const StageDecision = z.strictObject({
  number: z.int().describe("in the ledger, from 0"),
  stage: z.string().describe("name of the stage; original: before any"),
  stage_index: z.int().describe("of the stage in the document, from 0; -1: none"),
  attempt: z.int().describe("from 1; 0: about no attempt"),
  about: StageSubject,
  subject: z.string().nullable().describe(
    "benchmark, domain or rule; null: the attempt as a whole",
  ),
  value: z.number().nullable().describe("retention of what lies above chance, or an accuracy"),
  interval: z.tuple([z.number(), z.number()]).nullable().describe(
    "of the value, 95 % at all looks",
  ),
  threshold: z.number().nullable(),
  samples: z.int().nullable().describe("pairs that it rests on"),
  reference: z.number().nullable().describe("the score that the value is a share of"),
  score: z.number().nullable(),
  chance: z.number().nullable().describe("score of guessing"),
  decision: StageVerdict,
  by_estimate: z.boolean().describe(
    "the interval holds the threshold and no more samples may be taken: the value decided alone",
  ),
  reason: z.string(),
  from_artifact: z.string().nullable().describe(
    "artifact that the attempt began with or that is left",
  ),
  to_artifact: z.string().nullable().describe(
    "artifact that was judged, or that stands from here on",
  ),
  adjustment: z.record(z.string(), KnobValue).optional().describe(
    "knobs that the next attempt sets anew; absent: none",
  ),
  trial_id: z.string().nullable().describe("trial of the attempt; null: there is none"),
});
export type StageDecision = z.infer<typeof StageDecision>;
