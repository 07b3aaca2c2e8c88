import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** Whether the right answer stands in the text, letter by letter. */
export default defineScorer({
  name: "contains",
  version: "1",
  summary: "Right where the text holds the right answer, upper and lower case alike",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD,
  example: {
    row: { answer: "old mill" },
    right: { texts: ["By the Old Mill, they say."] },
    wrong: { texts: ["By the mill."] },
  },
});
