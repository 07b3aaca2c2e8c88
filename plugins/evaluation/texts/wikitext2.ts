import { defineTask } from "../../../core/mod.ts";

/**
 * Perplexity on the test articles of WikiText-2 (raw), a token. The rows are joined by blank lines
 * and cut into windows of 512 tokens that do not overlap, each read on its own: its value lies
 * above figures with longer windows and is comparable with its own kind only.
 */
export default defineTask({
  name: "wikitext2",
  version: "1",
  summary: "WikiText-2 (raw): perplexity per token, in windows of 512 tokens",
  scorers: [{ scorer: "token_loss" }],
  lm_eval_task: null,
  definition: {
    dataset_path: "Salesforce/wikitext",
    dataset_name: "wikitext-2-raw-v1",
    test_split: "test",
    metadata: { fields: { text: "string" } },
  },
  data_file: "wikitext2/test.jsonl.gz",
  shipped: false,
  licence: "CC-BY-SA-3.0",
  few_shot: 0,
  metric: "perplexity",
  reported_metric: "perplexity",
  chance: 0,
  proxy_samples: 16,
  full_samples: 64,
  window_tokens: 512,
  datasets: ["wikitext2", "wikitext"],
});
