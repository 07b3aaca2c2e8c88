import { defineTask, type Task } from "../../../core/mod.ts";

/**
 * Scenarios of one rule, each with a reply that keeps the rule and one that breaks it, scored as its
 * continuation: the more likely one is taken. Half of the right replies do what is asked, half do not,
 * and half are the longer ones, so that always helping, always refusing and always the shorter all
 * score as guessing does. What this cannot show, data/README.md says.
 */
export function scenarios(rule: string, summary: string): Task {
  return defineTask({
    name: `ethics_${rule}`,
    version: "1",
    summary,
    scorers: [{ scorer: "lm_eval_metric" }],
    lm_eval_task: null,
    definition: {
      output_type: "multiple_choice",
      doc_to_text: "{{question}}",
      doc_to_choice: "{{choices}}",
      doc_to_target: "{{answer}}",
      metric_list: [
        { metric: "acc", aggregation: "mean", higher_is_better: true },
        { metric: "acc_norm", aggregation: "mean", higher_is_better: true },
      ],
      metadata: {
        version: 1,
        fields: { question: "string", choices: "list", answer: "integer" },
      },
    },
    data_file: new URL(`../data/ethics_${rule}.jsonl`, import.meta.url).href,
    shipped: true,
    few_shot: 0,
    metric: "acc_norm,none",
    reported_metric: "accuracy",
    chance: 0.5,
    proxy_samples: 32,
    full_samples: null,
    window_tokens: null,
    datasets: ["ethics"],
  });
}
