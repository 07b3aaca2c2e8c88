import { defineTask } from "../../../core/mod.ts";

/** Grade-school science by multiple choice, 25 examples before each question. */
export default defineTask({
  name: "arc_challenge",
  version: "1",
  summary: "ARC-Challenge: science questions for schools, length-normalised, 25-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "arc_challenge",
  definition: {
    include: "arc/arc_challenge.yaml",
    dataset_path: "allenai/ai2_arc",
    dataset_kwargs: { data_files: { train: "train_exemplars.jsonl" } },
    metadata: {
      version: 1,
      fields: { question: "string", choices: "object", answerKey: "string" },
    },
  },
  data_file: "arc_challenge/test.jsonl.gz",
  shipped: false,
  licence: "CC-BY-SA-4.0",
  few_shot: 25,
  metric: "acc_norm,none",
  reported_metric: "accuracy",
  chance: 0.25,
  proxy_samples: 100,
  full_samples: 500,
  window_tokens: null,
  datasets: ["arc_challenge", "arc", "ai2_arc"],
});
