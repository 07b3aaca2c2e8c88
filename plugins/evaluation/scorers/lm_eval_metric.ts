import { z } from "zod";
import { defineScorer, reportedName, scorerMetric } from "../../../core/mod.ts";

/** What lm-evaluation-harness itself makes of an answer: the filter and the metric of a task's document. */
export default defineScorer({
  name: "lm_eval_metric",
  version: "1",
  summary: "Filter and metric of lm-evaluation-harness, as the task's document names them",
  reads: ["choices", "text"],
  metrics: ({ metric }, reported_metric) => [
    scorerMetric(metric === null ? reported_metric : reportedName(metric)),
  ],
  params: z.strictObject({
    metric: z.string().regex(/^[^,]+,[^,]+$/, "it must be METRIC,FILTER, such as acc_norm,none")
      .nullable().default(null).describe("lm-eval's metric and filter; null: the task's own"),
  }),
  example: {
    row: { question: "The fox sleeps in the", choices: ["den", "sea"], answer: 0 },
    definition: {
      output_type: "multiple_choice",
      doc_to_text: "{{question}}",
      doc_to_choice: "{{choices}}",
      doc_to_target: "{{answer}}",
      metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    },
    metric: "acc,none",
    right: { likelihoods: [-1, -9], greedy: [true, false] },
    wrong: { likelihoods: [-9, -1], greedy: [false, true] },
  },
});
