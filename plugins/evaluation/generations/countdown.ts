import { defineTask } from "../../../core/mod.ts";

/** The worked examples: small sums, none of which the generator draws. */
const EXAMPLES = [
  { target: 24, numbers: [3, 8, 1, 5], solution: "3 * 8" },
  { target: 36, numbers: [40, 9, 5, 2], solution: "40 - 9 + 5" },
  { target: 75, numbers: [25, 4, 1, 6], solution: "25 * (4 - 1)" },
  { target: 18, numbers: [90, 5, 12, 7], solution: "90 / 5" },
];

/**
 * Numbers to be joined by + - * / to a target, each used at most once; four worked examples. Its
 * items are made by `pare_backends/evaluation/tasks/countdown.py`, each with a solution; an answer is an
 * expression that is reckoned, not compared, so that every right one is right.
 */
export default defineTask({
  name: "countdown",
  version: "1",
  summary: "Countdown, generated here: reach a number from four others by + - * /, 4-shot",
  scorers: [{ scorer: "countdown", params: { gold: "problem" } }],
  lm_eval_task: null,
  definition: {
    output_type: "generate_until",
    doc_to_text:
      "Make {{target}} from the numbers {{numbers | join(', ')}} with +, -, * and /. Each number " +
      "may be used once at most.\nAnswer:",
    doc_to_target: "{{solution}}",
    fewshot_config: { sampler: "first_n", samples: EXAMPLES },
    generation_kwargs: { do_sample: false, max_gen_toks: 48, until: ["\n", "Make "] },
    metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
    metadata: {
      version: 1,
      fields: { target: "integer", numbers: "list", problem: "string", solution: "string" },
      generator: { name: "countdown", count: 1000, seed: 42 },
    },
  },
  data_file: null,
  shipped: true,
  licence: "MIT",
  few_shot: 4,
  metric: "exact_match,none",
  reported_metric: "accuracy",
  chance: 0,
  proxy_samples: 100,
  full_samples: 1000,
  window_tokens: null,
  datasets: ["countdown"],
});
