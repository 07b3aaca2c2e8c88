import { defineTask } from "../../../core/mod.ts";

/**
 * A passage that breaks off before the answer: right where the generation holds it. Made for small
 * models that follow no instructions (Arora and others 2024); lm-eval's own task of that name.
 * SQuAD's exact match and F1 of the same generations stand beside the accuracy.
 */
export default defineTask({
  name: "squad_completion",
  version: "1",
  summary:
    "SQuAD as completion: the generation holds the answer, exact match and F1 beside it, 0-shot",
  scorers: [{ scorer: "contains_span", params: { gold: "value" } }],
  lm_eval_task: "squad_completion",
  definition: {
    dataset_path: "hazyresearch/based-squad",
    dataset_name: "default",
    validation_split: "validation",
    output_type: "generate_until",
    doc_to_text: "{{text.strip()}}",
    doc_to_target: "{{value.strip()}}",
    generation_kwargs: { do_sample: false, max_gen_toks: 48, until: ["\n"] },
    metadata: {
      version: 1,
      fields: { text: "string", value: "string" },
    },
  },
  data_file: "squad_completion/validation.jsonl.gz",
  shipped: false,
  few_shot: 0,
  metric: "exact_match,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["squad", "squad_completion"],
});
