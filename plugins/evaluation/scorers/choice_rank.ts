import { z } from "zod";
import { defineScorer, scorerMetric } from "../../../core/mod.ts";

/** How high the right choice stands, not only whether it is first: it moves where accuracy still stands. */
export default defineScorer({
  name: "choice_rank",
  version: "1",
  summary:
    "One over the rank of the right choice by likelihood: 1 where it is first, 0.5 where second",
  reads: ["choices"],
  metrics: [{ ...scorerMetric("reciprocal_rank"), range: [null, 1] }],
  params: z.strictObject({
    gold: z.string().min(1).default("answer").describe(
      "field of the row with the right choice's number, from 0",
    ),
  }),
  example: {
    row: { answer: 0 },
    right: { likelihoods: [-1, -9], greedy: [true, false] },
    wrong: { likelihoods: [-9, -1], greedy: [false, true] },
  },
});
