import { z } from "zod";
import { defineScorer, scorerMetric } from "../../../core/mod.ts";

/** Each of LongBench's six measures; how a question is answered word for word stands beside its F1. */
export default defineScorer({
  name: "longbench_measure",
  version: "1",
  summary: "LongBench's own measures: the best score of an answer against those that are right",
  reads: ["text"],
  metrics: ({ measure }, reported_metric) => [
    scorerMetric(reported_metric),
    ...(measure === "f1" && reported_metric !== "exact_match" ? [scorerMetric("exact_match")] : []),
  ],
  params: z.strictObject({
    measure: z.literal([
      "f1",
      "rouge_l",
      "edit_similarity",
      "classification",
      "retrieval",
      "count",
    ]).describe("how an answer is held against a right one"),
    answers: z.string().min(1).default("answers").describe(
      "field of the row with the right answers",
    ),
    classes: z.string().min(1).default("all_classes").describe(
      "field of the row with all classes, for classification",
    ),
    first_line: z.boolean().default(false).describe(
      "the first line alone is scored, as worked examples make a model go on with the next one",
    ),
  }),
  example: {
    row: { answers: ["the old mill", "a mill"], all_classes: null },
    params: { measure: "f1" },
    right: { texts: ["The old mill!"] },
    wrong: { texts: ["nowhere"] },
  },
});
