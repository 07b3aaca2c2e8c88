import { defineTask } from "../../../core/mod.ts";

/**
 * Four ways a scene goes on, scored as text and normalised by their lengths, 10 examples. The file
 * of the data directory is a random thousand of the validation split, less what is kept elsewhere.
 */
export default defineTask({
  name: "hellaswag",
  version: "1",
  summary: "HellaSwag: how a scene goes on, length-normalised, 10-shot",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "hellaswag",
  definition: {
    include: "hellaswag/hellaswag.yaml",
    dataset_path: "Rowan/hellaswag",
    dataset_kwargs: { data_files: { train: "train_exemplars.jsonl" } },
    metadata: {
      version: 1,
      fields: {
        activity_label: "string",
        ctx_a: "string",
        ctx_b: "string",
        endings: "list",
        label: "string",
      },
    },
  },
  data_file: "hellaswag/validation_olmes.jsonl.gz",
  shipped: false,
  licence: "MIT",
  few_shot: 10,
  metric: "acc_norm,none",
  reported_metric: "accuracy",
  chance: 0.25,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["hellaswag"],
});
