import { defineTask } from "../../../core/mod.ts";

/** Which of two nouns a pronoun stands for: the rest of the sentence is scored after each. */
export default defineTask({
  name: "winogrande",
  version: "1",
  summary: "WinoGrande (xl): whom a pronoun means, by the rest of the sentence, 5-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "winogrande",
  definition: {
    include: "winogrande/default.yaml",
    dataset_path: "allenai/winogrande",
    dataset_kwargs: { data_files: { train: "train_exemplars.jsonl" } },
    metadata: {
      version: 1,
      fields: { sentence: "string", option1: "string", option2: "string", answer: "string" },
    },
  },
  data_file: "winogrande/validation.jsonl.gz",
  shipped: false,
  few_shot: 5,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.5,
  proxy_samples: 100,
  full_samples: null,
  window_tokens: null,
  datasets: ["winogrande"],
});
