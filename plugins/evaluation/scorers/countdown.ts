import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** The field holds the problem in words, "24 from 3, 8, 1": every expression that solves it is right. */
export default defineScorer({
  name: "countdown",
  version: "1",
  summary: "Right where the expression, which is reckoned and never run, reaches the target",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD,
  example: {
    row: { answer: "24 from 3, 8, 1, 5" },
    right: { texts: ["Answer: 3 * 8"] },
    wrong: { texts: ["3 + 8"] },
  },
});
