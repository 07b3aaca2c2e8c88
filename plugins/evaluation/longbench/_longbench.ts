import { defineTask, type Task } from "../../../core/mod.ts";

/** How an answer is held against the right ones, and what the figure is called. */
const METRICS = {
  f1: "f1",
  rouge_l: "rouge_l",
  edit_similarity: "edit_similarity",
  classification: "accuracy",
  retrieval: "accuracy",
  count: "accuracy",
} as const;

/** The six categories, with the tasks of each in LongBench and in LongBench-E. */
const CATEGORIES = {
  single_document_qa: { longbench: 3, longbench_e: 2 },
  multi_document_qa: { longbench: 3, longbench_e: 2 },
  summarization: { longbench: 3, longbench_e: 2 },
  few_shot: { longbench: 3, longbench_e: 3 },
  synthetic: { longbench: 2, longbench_e: 2 },
  code: { longbench: 2, longbench_e: 2 },
} as const;
const TASKS = { longbench: 16, longbench_e: 13 } as const;

/** What one task of LongBench has of its own. */
export interface LongBench {
  /** As the benchmark calls it. */
  readonly name: string;
  readonly category: keyof typeof CATEGORIES;
  /** The benchmark's own prompt (dataset2prompt.json, MIT, THUDM/LongBench), fields in braces. */
  readonly prompt: string;
  /** Most tokens of an answer (dataset2maxlen.json). */
  readonly tokens: number;
  readonly measure: keyof typeof METRICS;
  /** Score of guessing, where there is something to guess among. */
  readonly chance?: number;
  /** No chat template, whatever the user says: worked examples and code go on as they are. */
  readonly plain?: true;
  /** Of the answer the first line alone is scored. */
  readonly first_line?: true;
  /** An answer ends with its first line, which is not empty. */
  readonly one_line?: true;
  readonly datasets?: readonly string[];
}

/**
 * A task of LongBench (Bai et al. 2024) by its official protocol: a prompt that is too long loses its
 * middle, tokens of its beginning and end are kept alike. Scores of samples of under 4,000, under 8,000
 * and more words are slices.
 */
export function longBench(task: LongBench, set: keyof typeof TASKS = "longbench"): Task {
  const stem = task.name.replaceAll("-", "_");
  const end = set === "longbench_e" ? "_e" : "";
  const doc_to_text = task.prompt.replace("{context}", "{{context}}").replace(
    "{input}",
    "{{input}}",
  );
  const until = task.one_line ? ["\n"] : [];
  const group = (name: string, members: number) => ({
    group: name,
    weight_by_size: false,
    members,
  });
  return defineTask({
    name: `${set}_${stem}`,
    version: "1",
    summary: `${set === "longbench" ? "LongBench" : "LongBench-E"} ${task.name}: ${
      task.category.replaceAll("_", " ")
    }, 0-shot`,
    scorers: [{
      scorer: "longbench_measure",
      params: { measure: task.measure, first_line: task.first_line === true },
    }],
    lm_eval_task: `longbench_${task.name}${end}`,
    definition: {
      dataset_path: "Xnhyacinth/LongBench",
      dataset_name: `${task.name}${end}`,
      test_split: "test",
      output_type: "generate_until",
      doc_to_text,
      doc_to_target: "answers",
      target_delimiter: "",
      generation_kwargs: {
        do_sample: false,
        max_gen_toks: task.tokens,
        until,
        ...(task.one_line ? { min_new_tokens: 1 } : {}),
      },
      metadata: {
        version: 1,
        fields: { input: "string", context: "string", answers: "list", length: "integer" },
        // The hub's copy has another name for what the benchmark's own files call input.
        hub_fields: { question: "input" },
        cut: "middle",
        rows_of: { field: "dataset", values: [task.name, `${task.name}_e`] },
        ...(task.plain ? { chat_template: false } : {}),
        groups: { field: "length", below: { "0-4k": 4000, "4-8k": 8000, "8k+": null } },
      },
    },
    data_file: `longbench/${task.name}${end}.jsonl.gz`,
    shipped: false,
    few_shot: 0,
    metric: "exact_match,none",
    reported_metric: METRICS[task.measure],
    chance: task.chance ?? 0,
    proxy_samples: 20,
    full_samples: null,
    window_tokens: null,
    datasets: set === "longbench" ? task.datasets ?? [task.name] : [],
    member_of: [
      group(set, TASKS[set]),
      group(`${set}_${task.category}`, CATEGORIES[task.category][set]),
    ],
  });
}
