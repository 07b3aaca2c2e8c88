import { defineTask, type Task } from "../../../core/mod.ts";

/** Lengths that are made where a user names none; those that the model does not read are left out. */
const LENGTHS = [512, 1024, 2048, 4096];
const PROSE = "ruler/essays.jsonl.gz";

/** What one task of RULER has of its own. */
interface Ruler {
  /** As the benchmark calls it: its generator is known by it. */
  readonly task: string;
  readonly summary: string;
  /** Most tokens of an answer. */
  readonly tokens: number;
  /** Of `--data-dir`: prose or questions that it is made of; absent: nothing. */
  readonly data_file?: string;
  /** One of the right answers is enough. */
  readonly any?: true;
  /** What stands before the question, by field. */
  readonly example?: true;
}

const generator = (task: string) => ({
  name: "ruler",
  task,
  lengths: LENGTHS,
  count: 100,
  seed: 42,
});
const GROUPS = { field: "place" };
const OWN = {
  version: "1",
  lm_eval_task: null,
  shipped: true,
  few_shot: 0,
  reported_metric: "accuracy",
  proxy_samples: 20,
  full_samples: 100,
  window_tokens: null,
} as const;

/** The tasks that hide something in prose: the user's own file stands for ours. */
export const inProse = { data_file: PROSE } as const;

/**
 * A task of RULER (Hsieh et al. 2024), made by `pare_backends/evaluation/ruler` in the model's own
 * tokens; `NAME:LENGTH` makes it of another length. Scores by length, and by the depth at which the
 * answer stands where it stands at one, are slices.
 */
export function ruler({ task, summary, tokens, data_file, any, example }: Ruler): Task {
  return defineTask({
    ...OWN,
    name: `ruler_${task}`,
    summary: `RULER ${task}: ${summary}`,
    scorers: [{ scorer: "string_match", params: { gold: "outputs", any: any === true } }],
    definition: {
      output_type: "generate_until",
      doc_to_text: example ? "{{input_example}}\n{{input}}" : "{{input}}",
      doc_to_target: "outputs",
      gen_prefix: "{{gen_prefix}}",
      target_delimiter: " ",
      generation_kwargs: { do_sample: false, max_gen_toks: tokens, until: [] },
      metadata: {
        version: 1,
        fields: { input: "string", outputs: "list", gen_prefix: "string", place: "string" },
        groups: GROUPS,
        generator: generator(task),
      },
    },
    data_file: data_file ?? null,
    metric: "exact_match,none",
    chance: 0,
    datasets: [task],
  });
}

/** Needles whose value is chosen among ten by likelihood: a measure for models that cannot copy it out. */
export function needleRank(): Task {
  return defineTask({
    ...OWN,
    name: "needle_rank",
    summary:
      "The likeliest of ten numbers is the one that a key has in a long text (RULER's needle)",
    scorers: [{ scorer: "lm_eval_metric" }, { scorer: "choice_rank" }],
    definition: {
      output_type: "multiple_choice",
      doc_to_text: "{{input}} {{gen_prefix}}",
      doc_to_choice: "{{choices}}",
      doc_to_target: "{{answer}}",
      target_delimiter: " ",
      metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
      metadata: {
        version: 1,
        fields: { input: "string", choices: "list", answer: "integer", place: "string" },
        groups: GROUPS,
        generator: { ...generator("niah_single_2"), rank: true },
      },
    },
    ...inProse,
    metric: "acc,none",
    chance: 0.1,
    datasets: ["needle_rank"],
  });
}
