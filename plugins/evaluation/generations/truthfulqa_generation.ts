import { defineTask } from "../../../core/mod.ts";

/**
 * Free answers, scored by BLEU: right where the nearest true answer is nearer than the nearest
 * false one. A measure of likeness, not of truth: a judge, where one is named, is asked for that.
 */
export default defineTask({
  name: "truthfulqa_generation",
  version: "1",
  summary: "TruthfulQA, generated: nearer to a true than to a false answer by BLEU, 0-shot",
  scorers: [{ scorer: "lm_eval_metric" }, { scorer: "truthfulqa_judge" }],
  lm_eval_task: "truthfulqa_gen",
  definition: {
    include: "truthfulqa/truthfulqa_gen.yaml",
    dataset_path: "truthfulqa/truthful_qa",
    generation_kwargs: { do_sample: false, max_gen_toks: 128, until: ["\n\n"] },
    metadata: {
      version: 3,
      fields: { question: "string", correct_answers: "list", incorrect_answers: "list" },
    },
  },
  data_file: "truthful_qa/generation.jsonl.gz",
  shipped: false,
  licence: "Apache-2.0",
  few_shot: 0,
  metric: "bleu_acc,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: null,
  window_tokens: null,
  datasets: ["truthfulqa_generation", "truthfulqa_gen"],
});
