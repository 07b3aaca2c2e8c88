import { modelLabel, type StudyView } from "../view/study_view.ts";
import type { Authorship } from "./answer_blocks.ts";
import { benchmarkTable, partBlocks, protocolBlocks } from "./benchmark_blocks.ts";
import { type Block, heading, list, paragraph } from "./blocks.ts";
import { alertBlocks, missingLines } from "./evidence_blocks.ts";
import { citeBlocks, timeBlocks } from "./limit_blocks.ts";
import { assumptionBlocks, modelBlocks, runAgainBlocks } from "./provenance_blocks.ts";

/** Of the assumptions: those that a figure depends on where nothing is compressed. */
const MATTERS = ["samples.full"];

/** The report of a model that was evaluated and not compressed. */
export function evaluationReport(
  view: StudyView,
  { repeats = false, ...by }: Authorship & { readonly repeats?: boolean } = {},
): Block[] {
  const trial = view.trials.findLast(({ measurements }) => measurements.length > 0) ??
    view.trials.at(-1);
  const { endpoint, judge } = view.request.evaluation ?? {};
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
    ...(failure === undefined ? [] : [paragraph(`**${trial!.state}:** ${failure}`)]),
    ...(trial === undefined ? [] : [
      heading(2, "Benchmarks"),
      benchmarkTable(view, trial, "score"),
      ...partBlocks(view, trial),
    ]),
    ...list(missingLines(view)),
    ...alertBlocks(view),
    ...protocolBlocks(view),
    ...(endpoint === undefined ? modelBlocks(view) : []),
    ...assumptionBlocks(view, (field) => MATTERS.includes(field)),
    ...runAgainBlocks(view, repeats),
    ...timeBlocks(view),
    ...citeBlocks(view, by),
  ];
}
