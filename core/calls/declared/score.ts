import { z } from "zod";
import { Judge } from "../../schemas/scoring/judge.ts";
import { Fidelity } from "../../schemas/fidelity.ts";
import { WireTask } from "../../schemas/data/wire_task.ts";
import { ScoredTask } from "../../schemas/scoring/scored.ts";
import { WireScorer } from "../../schemas/scoring/wire_scorer.ts";
import { defineCall } from "../define_call.ts";

/** Answers that are kept are scored again; no model is loaded. */
export const score = defineCall("score", {
  request: {
    task: WireTask,
    scorers: z.array(WireScorer).min(1).describe(
      "those that are asked for, the task's own or any other",
    ),
    files: z.array(z.strictObject({
      samples_path: z.string().describe("of a finished evaluation"),
      fidelity: Fidelity,
      output_name: z.string().describe("how files beside the samples file are to begin"),
    })).min(1),
    answers_path: z.string().nullable().describe(
      "what judges and sandboxes said, kept; null: nowhere",
    ),
    allow_unsafe_code: z.boolean().describe("programs that the model wrote run without a sandbox"),
    judge: Judge.optional().describe("of scorers that ask one"),
    panel: z.array(Judge).optional().describe("further judges, of which the majority counts"),
  },
  result: z.strictObject({
    files: z.array(
      z.array(ScoredTask.extend({
        protocol_part: z.string().nullable().describe(
          "how the scorer stands among the parts of a protocol; null: as before it had a name, not at all",
        ),
      })).describe("by scorer, in the order of the task's"),
    ),
  }),
  imports: "tasks",
  servers: ({ judge, panel = [] }) => [judge, ...panel],
});
