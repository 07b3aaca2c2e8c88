import { defineTask } from "../../../core/mod.ts";

/**
 * Four ways to end a sentence, each scored as its continuation (no letters, which a small model
 * cannot handle): the most likely one is taken. They are a word or two each, so their lengths are
 * not weighed.
 */
export default defineTask({
  name: "everyday_choice",
  version: "1",
  summary: "Chooses one of four ends of a sentence on everyday knowledge and the meaning of words",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: null,
  definition: {
    output_type: "multiple_choice",
    doc_to_text: "{{question}}",
    doc_to_choice: "{{choices}}",
    doc_to_target: "{{answer}}",
    metric_list: [
      { metric: "acc", aggregation: "mean", higher_is_better: true },
      { metric: "acc_norm", aggregation: "mean", higher_is_better: true },
    ],
    metadata: {
      version: 1,
      fields: { question: "string", choices: "list", answer: "integer" },
    },
  },
  data_file: new URL("../data/everyday_choice.jsonl", import.meta.url).href,
  shipped: true,
  licence: "MIT",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.25,
  proxy_samples: 60,
  full_samples: null,
  window_tokens: null,
  datasets: ["demo"],
});
