import { z } from "zod";
import { defineScorer, Rubric } from "../../../core/mod.ts";

const FIELD = z.string().min(1).nullable().default(null);

/**
 * A model behind a server scores each answer by a rubric. What it says is read as JSON, mended once, asked
 * for again by a shorter prompt, and last scored by the task's own rule: each verdict says by which.
 */
export default defineScorer({
  name: "rubric_judge",
  version: "1",
  summary: "A judge's score by a rubric: the weighted mean of its criteria, from 0 to 1",
  reads: ["text"],
  metrics: [{ metric: "judge_score", unit: "1", direction: "maximize", range: [0, 1] }],
  params: z.strictObject({
    rubric: z.union([z.string().min(1), Rubric]).default("answer_quality").describe(
      "one that ships, a YAML file, or the rubric itself",
    ),
    question: FIELD.describe(
      "field of the row that was asked; null: question, prompt, input, problem or text",
    ),
    reference: FIELD.describe(
      "field of the row with a right answer; null: answer, target, reference or best_answer",
    ),
  }),
  judges: true,
  example: {
    row: { question: "How many legs has a spider?", answer: "Eight." },
    params: {
      rubric: {
        name: "right",
        about: "You judge whether an answer is right.",
        criteria: [{ name: "right", asks: "Is it right?" }],
      },
    },
    right: { texts: ["Eight."] },
    wrong: { texts: ["None at all."] },
  },
});
