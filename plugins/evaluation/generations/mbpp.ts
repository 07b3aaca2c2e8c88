import { defineTask } from "../../../core/mod.ts";
import { DRAWN, PASS_AT_1 } from "./_generated_code.ts";

/**
 * Short functions, the test split's 500, by lm-eval's own prompt: the problems 2, 3 and 4 are its
 * examples. Programs are drawn and run as those of HumanEval are.
 */
const PROMPT = "You are an expert Python programmer, and here is your task: {{text}} " +
  "Your code should pass these tests:\n\n" +
  "{{test_list[0]}}\n{{test_list[1]}}\n{{test_list[2]}}\n[BEGIN]\n";

export default defineTask({
  name: "mbpp",
  version: "1",
  summary: "MBPP: short functions with three tests each, pass@1 and pass@10, 3-shot",
  scorers: [{ scorer: "programs_pass", params: { problem: "mbpp" } }],
  lm_eval_task: "mbpp",
  definition: {
    dataset_path: "google-research-datasets/mbpp",
    dataset_name: "full",
    dataset_kwargs: { data_files: { train: "full.jsonl.gz" } },
    test_split: "test",
    fewshot_split: "prompt",
    output_type: "generate_until",
    doc_to_text: PROMPT,
    doc_to_target: "{{code}}\n[DONE]",
    target_delimiter: "",
    repeats: DRAWN.repeats,
    generation_kwargs: {
      ...DRAWN.decoding,
      until: ["[DONE]"],
    },
    metadata: {
      version: 1,
      fields: { task_id: "integer", text: "string", code: "string", test_list: "list" },
      rows: { field: "task_id", from: 11, to: 510 },
      example_rows: { field: "task_id", from: 2, to: 4 },
    },
  },
  data_file: "mbpp/full.jsonl.gz",
  shipped: false,
  licence: "CC-BY-4.0",
  few_shot: 3,
  ...PASS_AT_1,
  datasets: ["mbpp"],
});
