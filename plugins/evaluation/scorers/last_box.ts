import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** As MATH is scored: what stands in the last box, by the benchmark's own normalisation. */
export default defineScorer({
  name: "last_box",
  version: "1",
  summary: "Right where the last box, else the stated answer, is that of the solution",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD,
  example: {
    row: { answer: "So it is $\\boxed{\\frac{1}{2}}$." },
    right: { texts: ["Half of it: \\boxed{\\frac12}"] },
    wrong: { texts: ["\\boxed{\\frac12}, no, \\boxed{2}"] },
  },
});
