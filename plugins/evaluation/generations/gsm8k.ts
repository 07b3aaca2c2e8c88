import { defineTask } from "../../../core/mod.ts";

/**
 * Word problems with a chain of thought. The answer is the number after "####", else after "Final
 * Answer:", else the last one of a greedy generation; right within 0.01; none is wrong.
 */
export default defineTask({
  name: "gsm8k",
  version: "2",
  summary: "GSM8K: word problems, 8 examples with chains of thought",
  scorers: [{ scorer: "final_number" }],
  lm_eval_task: "gsm8k_cot",
  definition: {
    // Its eight examples are those of the chain-of-thought paper, in a fixed order.
    include: "gsm8k/gsm8k-cot.yaml",
    dataset_path: "openai/gsm8k",
    generation_kwargs: {
      do_sample: false,
      max_gen_toks: 256,
      until: ["Q:", "</s>", "<|im_end|>"],
    },
    metadata: {
      version: 3,
      fields: { question: "string", answer: "string" },
    },
  },
  data_file: "gsm8k/test.jsonl.gz",
  shipped: false,
  licence: "MIT",
  few_shot: 8,
  metric: "exact_match,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["gsm8k"],
});
