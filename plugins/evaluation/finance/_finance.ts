import { defineTask, type Task } from "../../../core/mod.ts";

/** What one task of computed finance questions has of its own. */
interface Finance {
  readonly name: string;
  readonly summary: string;
  /** Questions that are made: the kinds in turn. */
  readonly count: number;
  /** By which a judge, where one is named, scores how an answer explains itself. */
  readonly rubric?: string;
}

/**
 * Questions of `pare_backends/evaluation/finance`, whose answers are computed: a number is right within
 * 0.5 percent, whatever unit it is written in. Scores by kind of question are slices.
 */
export function finance({ name, summary, count, rubric }: Finance): Task {
  return defineTask({
    name,
    version: "1",
    summary,
    scorers: [
      { scorer: "close_number" },
      ...(rubric === undefined ? [] : [{ scorer: "rubric_judge", params: { rubric } }]),
    ],
    lm_eval_task: null,
    definition: {
      output_type: "generate_until",
      doc_to_text: "Question: {{question}}\n",
      doc_to_target: "{{answer}}",
      generation_kwargs: { do_sample: false, max_gen_toks: 512, until: ["Question:"] },
      metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
      metadata: {
        version: 1,
        fields: { question: "string", answer: "string", kind: "string" },
        groups: { field: "kind" },
        generator: { name, count, seed: 42 },
      },
    },
    data_file: null,
    shipped: true,
    licence: "MIT",
    few_shot: 0,
    metric: "exact_match,none",
    reported_metric: "accuracy",
    chance: 0,
    proxy_samples: 60,
    full_samples: count,
    window_tokens: null,
    datasets: [name],
  });
}
