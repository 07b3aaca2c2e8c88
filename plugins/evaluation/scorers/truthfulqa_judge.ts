import { z } from "zod";
import { defineScorer, type ScorerMetric } from "../../../core/mod.ts";

const rate = (metric: string): ScorerMetric => ({
  metric,
  unit: "1",
  direction: "maximize",
  range: [0, 1],
});

/**
 * Truth and informativeness by a judge, asked with the prompts of TruthfulQA's public ones; what is
 * neither yes nor no counts for neither.
 */
export default defineScorer({
  name: "truthfulqa_judge",
  version: "1",
  summary: "TruthfulQA's judge: whether the text is true, and whether it is informative",
  reads: ["text"],
  metrics: [
    rate("truth_rate"),
    rate("informativeness_rate"),
    rate("truth_and_informativeness_rate"),
  ],
  params: z.strictObject({
    question: z.string().min(1).default("question").describe("field of the row that was asked"),
  }),
  judges: true,
  example: {
    row: { question: "How many legs has a spider?" },
    right: { texts: ["Eight."] },
    wrong: { texts: ["None at all."] },
  },
});
