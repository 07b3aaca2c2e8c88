import { defineTask } from "../../../core/mod.ts";
import { DRAWN, PASS_AT_1 } from "./_generated_code.ts";

/**
 * Functions to complete, by lm-eval's own prompt and stop words; ten or more programs a problem are
 * drawn and each is run against the problem's test in a sandbox. lm-eval's document is not
 * included: reading it runs code that asks the hub for a metric.
 */
export default defineTask({
  name: "humaneval",
  version: "1",
  summary: "HumanEval: functions written from their description, pass@1 and pass@10, 0-shot",
  scorers: [{ scorer: "programs_pass", params: { problem: "humaneval" } }],
  lm_eval_task: "humaneval",
  definition: {
    dataset_path: "openai/openai_humaneval",
    test_split: "test",
    output_type: "generate_until",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{test}}\ncheck({{entry_point}})",
    repeats: DRAWN.repeats,
    generation_kwargs: {
      ...DRAWN.decoding,
      until: ["\nclass", "\ndef", "\n#", "\nif", "\nprint"],
    },
    metadata: {
      version: 1,
      fields: {
        task_id: "string",
        prompt: "string",
        canonical_solution: "string",
        test: "string",
        entry_point: "string",
      },
    },
  },
  data_file: "humaneval/test.jsonl.gz",
  shipped: false,
  licence: "MIT",
  few_shot: 0,
  ...PASS_AT_1,
  datasets: ["humaneval"],
});
