import { defineTask } from "../../core/mod.ts";

/**
 * Competition problems of seven fields, no examples: right where the answer, the text between the
 * first and the last dollar sign, is the boxed one after lm-eval's normalisation. The mean over the
 * fields and every field stand beside the accuracy as slices.
 */
export default defineTask({
  name: "hendrycks_math",
  version: "1",
  summary: "MATH: competition problems of seven fields, 0-shot",
  evaluator: "lm_eval",
  lm_eval_task: "hendrycks_math",
  definition: {
    include: "hendrycks_math/hendrycks_math_algebra.yaml",
    dataset_path: "EleutherAI/hendrycks_math",
    generation_kwargs: { do_sample: false, max_gen_toks: 512, until: ["Problem:"] },
    metadata: {
      version: 1,
      fields: { problem: "string", solution: "string", type: "string" },
      groups: {
        field: "type",
        means: { mean_of_fields: "" },
        hub_configs: [
          "algebra",
          "counting_and_probability",
          "geometry",
          "intermediate_algebra",
          "number_theory",
          "prealgebra",
          "precalculus",
        ],
      },
    },
  },
  data_file: "hendrycks_math/test.jsonl.gz",
  shipped: false,
  few_shot: 0,
  metric: "exact_match,none",
  reported_metric: "accuracy",
  unit: "1",
  direction: "maximize",
  chance: 0,
  proxy_samples: 140,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["hendrycks_math"],
});
