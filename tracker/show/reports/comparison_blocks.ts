import { metricWords, type TaskComparison, trialName } from "../../../core/mod.ts";
import { differenceText } from "../view/difference_text.ts";
import { number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, table } from "./blocks.ts";

function samplesNeeded(
  { n, samples_to_tell_apart: needed }: TaskComparison,
  existing: number | undefined,
): string {
  if (needed === null) return "no difference";
  if (needed > n && needed > (existing ?? Infinity)) return `more than the ${existing} that exist`;
  return needed <= n ? "enough" : `${needed - n} more`;
}

/** Retention corrected for chance, or why there is none. */
function aboveChance({ retention }: TaskComparison): string {
  if (retention === null) return "–";
  return retention.undefined_because === null
    ? number(retention.above_chance)
    : `undefined: ${retention.undefined_because}`;
}

/** A trial's task beside the original's: name, metric, samples, both scores and their difference. */
export function comparedCells(one: TaskComparison): string[] {
  return [
    one.task,
    metricWords(one.metric),
    String(one.n),
    number(one.reference),
    number(one.score),
    differenceText({ ...one, value: one.difference }),
  ];
}

function row(trial: string, one: TaskComparison, existing: number | undefined): string[] {
  return [
    trial,
    ...comparedCells(one),
    number(one.p_value),
    number(one.p_adjusted),
    number(one.retention?.plain),
    aboveChance(one),
    samplesNeeded(one, existing),
  ];
}

/** Every trial measured in full against the baseline, sample by sample; nothing where none was. */
export function comparisonBlocks(view: StudyView): Block[] {
  const existing = new Map(
    view.spec.tasks.map(({ task, available_samples }) => [task, available_samples]),
  );
  const rows = view.trials.flatMap(({ trial_id, number: count }) =>
    (view.comparisons.get(trial_id) ?? []).map((one) =>
      row(trialName(count), one, existing.get(one.task))
    )
  );
  if (rows.length === 0) return [];
  return [
    heading(3, "Against the baseline"),
    table(
      [
        "trial",
        "task",
        "metric",
        "n",
        "baseline",
        "score",
        "difference [95 %]",
        "p",
        "p (Holm)",
        "retention",
        "above chance",
        "to tell apart",
      ],
      rows,
      "The same samples on both sides; a difference of perplexity is relative, in percent. The interval " +
        "is the pairs' (Bonett and Price's where every answer is right or wrong). p: " +
        "McNemar's exact test where every answer is right or wrong and counts alike, else sign " +
        "flips of the differences; Holm's correction is over a trial's tasks. Above chance: (score − chance) / " +
        "(baseline − chance). To tell apart: " +
        "samples more that would show such a difference in 8 of 10 repetitions at a level of 5 %, " +
        "at least as many as an exact test needs where so many answers differ.",
    ),
  ];
}
