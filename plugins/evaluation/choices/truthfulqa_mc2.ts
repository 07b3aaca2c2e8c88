import { defineTask } from "../../../core/mod.ts";

/** Several true and false answers: the share of the probability that the true ones get. */
export default defineTask({
  name: "truthfulqa_mc2",
  version: "1",
  summary: "TruthfulQA MC2: probability given to the true answers, 0-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "truthfulqa_mc2",
  definition: {
    include: "truthfulqa/truthfulqa_mc2.yaml",
    dataset_path: "truthfulqa/truthful_qa",
    metadata: { version: 3, fields: { question: "string", mc2_targets: "object" } },
  },
  data_file: "truthful_qa/multiple_choice.jsonl.gz",
  shipped: false,
  licence: "Apache-2.0",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.448,
  proxy_samples: 100,
  full_samples: null,
  window_tokens: null,
  datasets: ["truthfulqa_mc2", "truthfulqa", "truthful_qa"],
});
