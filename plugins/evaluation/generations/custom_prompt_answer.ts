import { defineTask } from "../../../core/mod.ts";

/** A user's own {prompt, answer} rows: right where greedy decoding gives the whole answer. */
export default defineTask({
  name: "custom_prompt_answer",
  version: "1",
  summary: "The user's own prompts: share of answers that greedy decoding gives word for word",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: null,
  definition: {
    output_type: "loglikelihood",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{answer if prompt[-1:].isspace() or answer[:1].isspace() else ' ' + answer}}",
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields: { prompt: "string", answer: "string" } },
  },
  data_file: null,
  shipped: false,
  few_shot: 0,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 60,
  full_samples: 500,
  window_tokens: null,
  datasets: ["custom_prompt_answer"],
});
