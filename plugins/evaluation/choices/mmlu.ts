import { defineTask } from "../../../core/mod.ts";

/**
 * 57 subjects by the letters A to D; each subject's five examples are those of its dev split. The
 * accuracy is the mean over questions; the unweighted mean of the subjects and every subject stand
 * beside it as slices.
 */
export default defineTask({
  name: "mmlu",
  version: "1",
  summary: "MMLU: 57 subjects by letters, 5-shot; both means and every subject",
  scorers: [{ scorer: "lm_eval_metric" }],
  lm_eval_task: "mmlu",
  definition: {
    include: "mmlu/default/_default_template_yaml",
    dataset_path: "cais/mmlu",
    dataset_name: "all",
    dataset_kwargs: { data_files: { train: "dev.jsonl.gz" } },
    metadata: {
      version: 1,
      fields: { question: "string", subject: "string", choices: "list", answer: "integer" },
      groups: {
        field: "subject",
        include: "mmlu/default/mmlu_{}.yaml",
        means: { mean_of_subjects: "" },
      },
    },
  },
  data_file: "mmlu/test.jsonl.gz",
  shipped: false,
  licence: "MIT",
  few_shot: 5,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.25,
  proxy_samples: 285,
  full_samples: null,
  window_tokens: null,
  datasets: ["mmlu"],
});
