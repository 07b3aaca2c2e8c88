import { defineTask } from "../../../core/mod.ts";

/** The last word of a passage from a novel: separates models of 100 M parameters well. */
export default defineTask({
  name: "lambada",
  version: "1",
  summary: "LAMBADA (OpenAI's text): predicts the last word of a passage",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "lambada_openai",
  definition: {
    include: "lambada/lambada_openai.yaml",
    dataset_path: "EleutherAI/lambada_openai",
    // Accuracy alone: the perplexity of the words would be bootstrapped for minutes.
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields: { text: "string" } },
  },
  data_file: "lambada/test.jsonl.gz",
  shipped: false,
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: 500,
  window_tokens: null,
  datasets: ["lambada", "lambada_openai"],
});
