import { defineTask } from "../../../core/mod.ts";

/** Closed-book questions: right where a greedy generation is one of the answer's known names. */
export default defineTask({
  name: "triviaqa",
  version: "1",
  summary: "TriviaQA (no context): one of the answer's names word for word, 5-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "triviaqa",
  definition: {
    include: "triviaqa/default.yaml",
    dataset_path: "mandarjoshi/trivia_qa",
    dataset_kwargs: { data_files: { train: "train_exemplars.jsonl" } },
    generation_kwargs: { do_sample: false, max_gen_toks: 32, until: ["\n", ".", ","] },
    metadata: { version: 3, fields: { question: "string", answer: "object" } },
  },
  data_file: "triviaqa/validation.jsonl.gz",
  shipped: false,
  few_shot: 5,
  metric: "exact_match,remove_whitespace",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["triviaqa", "trivia_qa"],
});
