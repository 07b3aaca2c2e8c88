import { defineTask } from "../../../core/mod.ts";

/** A user's own {text} rows, joined by blank lines and read in windows of 256 tokens. */
export default defineTask({
  name: "custom_text",
  version: "1",
  summary: "Perplexity on the user's own text, in windows of 256 tokens",
  scorers: [{ scorer: "token_loss" }],
  lm_eval_task: null,
  definition: { metadata: { fields: { text: "string" } } },
  data_file: null,
  shipped: false,
  few_shot: 0,
  metric: "perplexity",
  reported_metric: "perplexity",
  chance: 0,
  proxy_samples: 8,
  full_samples: 64,
  window_tokens: 256,
  datasets: ["custom_text"],
});
