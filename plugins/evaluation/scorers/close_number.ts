import { z } from "zod";
import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** The number after "Answer:", else the last one; a unit that is written, such as %, is converted. */
export default defineScorer({
  name: "close_number",
  version: "1",
  summary: "Right where the final number is within a share of the right answer's, units read",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD.extend({
    relative: z.number().positive().max(0.5).default(0.005).describe(
      "how far from the right answer a number may be, as a share of it",
    ),
  }),
  example: {
    row: { answer: "5.25 %" },
    right: { texts: ["So it grows from 4. Answer: 525 bp"] },
    wrong: { texts: ["Answer: 5.5 %"] },
  },
});
