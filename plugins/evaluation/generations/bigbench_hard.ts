import { defineTask } from "../../../core/mod.ts";

const SUBTASKS = [
  "boolean_expressions",
  "causal_judgement",
  "date_understanding",
  "disambiguation_qa",
  "dyck_languages",
  "formal_fallacies",
  "geometric_shapes",
  "hyperbaton",
  "logical_deduction_five_objects",
  "logical_deduction_seven_objects",
  "logical_deduction_three_objects",
  "movie_recommendation",
  "multistep_arithmetic_two",
  "navigate",
  "object_counting",
  "penguins_in_a_table",
  "reasoning_about_colored_objects",
  "ruin_names",
  "salient_translation_error_detection",
  "snarks",
  "sports_understanding",
  "temporal_sequences",
  "tracking_shuffled_objects_five_objects",
  "tracking_shuffled_objects_seven_objects",
  "tracking_shuffled_objects_three_objects",
  "web_of_lies",
  "word_sorting",
];

/**
 * 23 tasks in 27 files (two tasks come in three sizes), each with three worked chains of thought.
 * The accuracy is the mean over questions; the means over 23 tasks and over 27 files and every file
 * stand beside it as slices. Guessing is right as often as the options of each question say, 0 where
 * the answer is free; the chance below is their mean over all 6,511. Its data may never be
 * calibrated on.
 */
export default defineTask({
  name: "bigbench_hard",
  version: "1",
  summary: "BIG-Bench Hard: 23 tasks with chains of thought, 3-shot; both means and every file",
  scorers: [{ scorer: "lm_eval_metric" }],
  generates: true,
  lm_eval_task: "bbh_cot_fewshot",
  definition: {
    include: "bbh/cot_fewshot/_cot_fewshot_template_yaml",
    dataset_path: "SaylorTwift/bbh",
    metadata: {
      version: 4,
      fields: { input: "string", target: "string", subtask: "string" },
      groups: {
        field: "subtask",
        include: "bbh/cot_fewshot/{}.yaml",
        means: { mean_of_23_tasks: "_(three|five|seven)_objects$", mean_of_27_files: "" },
        hub_configs: SUBTASKS,
      },
    },
  },
  data_file: "bbh/test.jsonl.gz",
  shipped: false,
  few_shot: 3,
  metric: "exact_match,get-answer",
  reported_metric: "accuracy",
  chance: 0.262,
  proxy_samples: 270,
  full_samples: null,
  window_tokens: null,
  datasets: ["bigbench_hard", "bbh"],
});
