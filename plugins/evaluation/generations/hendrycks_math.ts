import { defineTask } from "../../../core/mod.ts";
import { MATH_EXAMPLES } from "./_math_examples.ts";

/**
 * Competition problems of seven fields after four worked ones: right where the last box (or, as the
 * worked ones end, the stated final answer) is that of the solution after the benchmark's own
 * normalisation. The prompts are those of lm-eval's minerva_math, which itself needs packages for a
 * comparison by SymPy; this one follows the benchmark's paper. The mean over the fields and every
 * field stand beside the accuracy as slices.
 */
export default defineTask({
  name: "hendrycks_math",
  version: "2",
  summary: "MATH: competition problems of seven fields by the last box, 4-shot",
  scorers: [{ scorer: "last_box", params: { gold: "solution" } }],
  lm_eval_task: "minerva_math",
  definition: {
    dataset_path: "EleutherAI/hendrycks_math",
    test_split: "test",
    output_type: "generate_until",
    doc_to_text: "Problem:\n{{problem}}\n\nSolution:",
    doc_to_target: "{{solution}}",
    fewshot_config: { sampler: "first_n", samples: MATH_EXAMPLES },
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
  few_shot: 4,
  metric: "exact_match,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 140,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["hendrycks_math"],
});
