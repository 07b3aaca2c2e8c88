import { defineTask } from "../../../core/mod.ts";

/** One true answer among false ones: right where it is the most likely. Six fixed questions come first. */
export default defineTask({
  name: "truthfulqa_mc1",
  version: "1",
  summary: "TruthfulQA MC1: the one true answer is the most likely, 0-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "truthfulqa_mc1",
  definition: {
    include: "truthfulqa/truthfulqa_mc1.yaml",
    dataset_path: "truthfulqa/truthful_qa",
    metadata: { version: 2, fields: { question: "string", mc1_targets: "object" } },
  },
  data_file: "truthful_qa/multiple_choice.jsonl.gz",
  shipped: false,
  licence: "Apache-2.0",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.226,
  proxy_samples: 100,
  full_samples: null,
  window_tokens: null,
  datasets: ["truthfulqa_mc1", "truthfulqa", "truthful_qa"],
});
