import { ladderAdvice, metricWords, rungAgreements } from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, paragraph, table } from "./blocks.ts";

/** How well each rung orders the trials as the full evaluation does; nothing where none can tell. */
export function agreementBlocks({ trials, spec }: StudyView): Block[] {
  const found = rungAgreements(trials, spec).filter(({ spearman }) => spearman !== null);
  if (found.length === 0) return [];
  const rows = found.map(({ fidelity, metric, n, spearman, interval, kendall }) => [
    fidelity,
    metricWords(metric),
    String(n),
    spearman!.toFixed(2),
    `${interval![0].toFixed(2)} to ${interval![1].toFixed(2)}`,
    kendall!.toFixed(2),
  ]);
  const advice = ladderAdvice(found, spec);
  return [
    heading(2, "How well each rung orders the trials"),
    table(
      ["rung", "figure", "trials", "rank correlation", "95 % interval", "Kendall's tau"],
      rows,
      "With the quality of the full evaluation, over the trials that have both: those that a rung " +
        "let through, which narrows what is seen of it.",
    ),
    ...(advice === null ? [] : [paragraph(`${advice}.`)]),
  ];
}
