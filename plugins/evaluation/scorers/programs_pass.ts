import { z } from "zod";
import { defineScorer, scorerMetric } from "../../../core/mod.ts";

/** A problem's score is the share of its programs that pass, which is pass@1; pass@10 is a slice. */
export default defineScorer({
  name: "programs_pass",
  version: "1",
  summary: "The share of the programs that pass the problem's own test, each run in a sandbox",
  reads: ["programs"],
  metrics: [scorerMetric("accuracy")],
  params: z.strictObject({
    problem: z.literal(["humaneval", "mbpp"]).describe(
      "how a program and its test are made of a row",
    ),
  }),
  runs_code: true,
  example: {
    row: {
      prompt: 'def after(n):\n    """The number after n."""\n',
      entry_point: "after",
      test: "def check(candidate):\n    assert candidate(1) == 2\n",
    },
    params: { problem: "humaneval" },
    right: { texts: ["    return n + 1\n"] },
    wrong: { texts: ["    return n\n"] },
  },
});
