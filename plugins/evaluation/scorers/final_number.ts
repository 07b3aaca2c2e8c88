import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** The number after "####", else after "Final Answer:", else the last one: as GSM8K is scored. */
export default defineScorer({
  name: "final_number",
  version: "1",
  summary: "Right where the final number of the text is within 0.01 of the right answer's",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD,
  example: {
    row: { answer: "9 x 2 = 18\n#### 18" },
    right: { texts: ["It is 9 x 2, so 18.004."] },
    wrong: { texts: ["It is 18, or rather 17."] },
  },
});
