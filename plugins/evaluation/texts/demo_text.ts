import { defineTask } from "../../../core/mod.ts";

/** Perplexity on text written for the project, so that no model was trained on it. */
export default defineTask({
  name: "demo_text",
  version: "1",
  summary: "Perplexity on original English text, in windows of 256 tokens",
  scorers: [{ scorer: "token_loss" }],
  lm_eval_task: null,
  definition: { metadata: { fields: { text: "string" } } },
  data_file: new URL("../data/demo_text.jsonl", import.meta.url).href,
  shipped: true,
  licence: "MIT",
  few_shot: 0,
  metric: "perplexity",
  reported_metric: "perplexity",
  chance: 0,
  proxy_samples: 2,
  full_samples: 8,
  window_tokens: 256,
  datasets: ["demo"],
});
