import { defineTask } from "../../../core/mod.ts";

/** Everyday knowledge by the letters A to E, no examples: lm-eval's own form. */
export default defineTask({
  name: "commonsense_qa",
  version: "1",
  summary: "CommonsenseQA: five answers by their letters, 0-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "commonsense_qa",
  definition: {
    include: "commonsense_qa/default.yaml",
    dataset_path: "tau/commonsense_qa",
    metadata: {
      version: 1,
      fields: { question: "string", choices: "object", answerKey: "string" },
    },
  },
  data_file: "commonsense_qa/validation.jsonl.gz",
  shipped: false,
  licence: "MIT",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.2,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["commonsense_qa", "commonsense", "csqa"],
});
