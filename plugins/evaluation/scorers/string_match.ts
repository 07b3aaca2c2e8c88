import { z } from "zod";
import { defineScorer } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** As RULER is scored: upper and lower case alike, wherever an answer stands in the text. */
export default defineScorer({
  name: "string_match",
  version: "1",
  summary: "The share of the right answers that the text holds, or whether it holds one",
  reads: ["text"],
  metrics: rightOrWrong,
  params: GOLD.extend({
    any: z.boolean().default(false).describe("one of the right answers is enough"),
  }),
  example: {
    row: { answer: ["4711", "0815"] },
    right: { texts: [" 0815 and 4711."] },
    wrong: { texts: ["4712"] },
  },
});
