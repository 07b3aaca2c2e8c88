import { defineScorer, scorerMetric } from "../../../core/mod.ts";
import { GOLD, rightOrWrong } from "./_gold.ts";

/** As SQuAD is completed: the accuracy is `contains`, SQuAD's own two figures stand beside it. */
export default defineScorer({
  name: "contains_span",
  version: "1",
  summary: "Right where the text holds the right answer; SQuAD's exact match and F1 beside it",
  reads: ["text"],
  metrics: (params, reported) => {
    const [own] = rightOrWrong(params, reported);
    const beside = ["exact_match", "f1"].map(scorerMetric);
    return [own!, ...beside.filter(({ metric }) => metric !== own!.metric)];
  },
  params: GOLD,
  example: {
    row: { answer: "the old mill" },
    right: { texts: ["The old mill!"] },
    wrong: { texts: ["nowhere"] },
  },
});
