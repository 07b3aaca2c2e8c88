import { defineTask } from "../../../core/mod.ts";

/** Sentences of the tiny model's own world: for tests and first tries, in seconds. */
export default defineTask({
  name: "tiny_words",
  version: "1",
  summary: "Completes sentences of the text that the tiny model is trained on",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: null,
  definition: {
    output_type: "loglikelihood",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{' ' + answer}}",
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields: { prompt: "string", answer: "string" } },
  },
  data_file: new URL("../data/tiny_words.jsonl", import.meta.url).href,
  shipped: true,
  licence: "MIT",
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 60,
  full_samples: null,
  window_tokens: null,
  datasets: ["tiny"],
});
