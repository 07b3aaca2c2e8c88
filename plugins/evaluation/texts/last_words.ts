import { defineTask } from "../../../core/mod.ts";

/** The last word of a short passage, as in LAMBADA: right where greedy decoding gives it. */
export default defineTask({
  name: "last_words",
  version: "1",
  summary: "Predicts the last word of an original short passage",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: null,
  definition: {
    output_type: "loglikelihood",
    doc_to_text: "{{text.split(' ')[:-1]|join(' ')}}",
    doc_to_target: "{{' ' + text.split(' ')[-1]}}",
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields: { text: "string" } },
  },
  data_file: new URL("../data/last_words.jsonl", import.meta.url).href,
  shipped: true,
  licence: "MIT",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 40,
  full_samples: null,
  window_tokens: null,
  datasets: ["demo"],
});
