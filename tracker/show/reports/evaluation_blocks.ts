import { kindOf, type Trial } from "../../../core/mod.ts";
import { modelLabel, type StudyView } from "../view/study_view.ts";
import { benchmarkTable, partBlocks } from "./benchmark_blocks.ts";
import { type Block, heading, paragraph } from "./blocks.ts";
import { figureNotes } from "../view/scored_again.ts";

/** The trial that the scores are of: the last with any. */
function scoredTrial({ trials }: StudyView): Trial | undefined {
  return trials.findLast(({ measurements }) => measurements.length > 0) ?? trials.at(-1);
}

/** What was evaluated and not compressed, where it ran, and how it ended. */
export function evaluatedBlocks(view: StudyView): Block[] {
  const trial = scoredTrial(view);
  const { endpoint, judge } = kindOf(view.request).asks(view.request);
  const served = endpoint === undefined ? "" : ` behind ${endpoint.base_url}`;
  const judged = judge === undefined
    ? ""
    : ` Judge: ${judge.model ?? "its own"} at ${judge.base_url}.`;
  const failure = trial?.failure?.message;
  return [
    heading(1, `${modelLabel(view.facts)}${served} on ${view.facts.dataset.dataset}`),
    paragraph(
      `Evaluation \`${view.study_id}\`: nothing was compressed. ` +
        `Ended: ${(view.message ?? view.stop ?? "still running").replace(/\.$/, "")}.${judged}`,
    ),
    ...figureNotes(view).map((note) => paragraph(note)),
    ...(failure === undefined ? [] : [paragraph(`**${trial!.state}:** ${failure}`)]),
  ];
}

/** Its scores task by task. */
export function scoreBlocks(view: StudyView): Block[] {
  const trial = scoredTrial(view);
  if (trial === undefined) return [];
  return [
    heading(2, "Benchmarks"),
    benchmarkTable(view, trial, "score"),
    ...partBlocks(view, trial),
  ];
}
