import { atContext, contextWords, isDecisive, metricOf, metricWords } from "../../../core/mod.ts";
import { bytes } from "../view/number_text.ts";
import { sidesSentence } from "../view/deployment.ts";
import type { StudyView } from "../view/study_view.ts";
import { type TrialColumn, trialColumns } from "../view/trial_columns.ts";
import type { TrialRow } from "../view/trial_rows.ts";
import { type Block, heading, table } from "./blocks.ts";
import { isTimed } from "./limit_blocks.ts";

function ratio(row: TrialRow, view: StudyView): string {
  return row.size_bytes === null
    ? "–"
    : `${(view.facts.model.fp16_bytes / row.size_bytes).toFixed(2)}×`;
}

/** What the report shows of a trial, its size beside the original's among it. */
function columnsOf(view: StudyView): TrialColumn[] {
  const compression: TrialColumn = {
    ...{ metric: "compression_ratio", heading: "ratio" },
    cell: (row) => ratio(row, view),
    sort: ({ size_bytes }) => size_bytes,
  };
  const [before, after] = [
    ["trial", "recipe", "figures", "energy"] as const,
    ["reward", "fidelity", "front_probability", "standing"] as const,
  ];
  return [...trialColumns(view, before), compression, ...trialColumns(view, after)];
}

/** Trials of one rung, with the caption below those evaluated in full. */
function rungTable(view: StudyView, of: readonly TrialRow[], caption: string): Block {
  const columns = columnsOf(view);
  const rows = of.map((row) => columns.map(({ cell }) => cell(row)));
  return table(columns.map(({ heading }) => heading), rows, caption);
}

/** Whether a trial ended on a rung below the last: its figures are of other samples. */
const isLower = ({ fidelity, state }: TrialRow) =>
  state === "completed" && fidelity !== null && !isDecisive(fidelity);

/** Trials evaluated in full, and apart from them those of lower rungs alone. */
function trialTables(view: StudyView): Block[] {
  const runtime = view.rows.find((row) => row.runtime !== null)?.runtime ?? view.spec.runtime;
  const energy = view.rows.find((row) => row.energy !== null)?.energy?.method ?? "not measured";
  const timed =
    `Latency and peak memory: ${runtime}. ${
      sidesSentence(view) ?? ""
    } Both are measured in turn in ` +
    "the same minutes, ± half the 95 % interval; trials of one stored form share it. " +
    "ms/token: that ratio times one baseline, the median over the study. ";
  const caption = (isTimed(view) ? timed : "") +
    `Ratio: fp16 bytes of the original (${bytes(view.facts.model.fp16_bytes)}) over bytes on ` +
    `disk; the file as it came holds ${bytes(view.facts.model.original_bytes)}. ` +
    `Energy: ${energy}; an estimate is shown and never an objective.`;
  const lower = view.rows.filter(isLower);
  const whole = view.rows.filter((row) => !isLower(row));
  return [
    ...(whole.length === 0 ? [] : [rungTable(view, whole, caption)]),
    ...(lower.length === 0 ? [] : [rungTable(
      view,
      lower,
      "On a lower rung alone: of fewer samples, so that no figure of quality or reward here may be set " +
        "beside one above.",
    )]),
  ];
}

/** Columns that no metric stands behind, in words. */
const COLUMN_WORDS: Readonly<Record<string, string>> = {
  trial: "its name in this study; t00 is the original, unchanged",
  recipe: "what was done to the original, in order",
  parameters: "weights that the written model holds",
  "× baseline": "time per token over the original's, both measured in turn in the same minutes; " +
    "below 1 is faster",
  ratio: "how many times smaller than the original as 16-bit floats",
  reward: "what the front is of, weighed together, less penalties; it steers the " +
    "search and picks among the front, and is no result",
  fidelity: "the largest set of samples that it was evaluated on; full: all of the study's",
  "P(front)":
    "probability that it is on the front, were other samples of the same kind asked: the " +
    "share of fronts, drawn again from the samples and the timings, that it is on",
  standing:
    "what became of it; dominated: another is no worse in every objective and better in one",
};

/** A metric in words: what its column in SQL says of it, where its own words are the heading again. */
function metricTerm(metric: string, heading: string, context_tokens: number | undefined): string {
  const words = metricWords(metric);
  const [said] = metricOf(metric)?.column?.split(";") ?? [];
  if (said === undefined || atContext(words, context_tokens) !== heading) return words;
  const at = context_tokens === undefined ? "the study's context" : contextWords(context_tokens);
  return said.replace("the study's context_tokens", at);
}

/** Each column in words, by the table of metrics where it is one of them. */
function columnTerms(
  columns: readonly TrialColumn[],
  context_tokens: number | undefined,
): (readonly [string, string])[] {
  return columns.map(({ metric, heading }) => {
    const known = metricOf(metric);
    const better = known === undefined
      ? ""
      : known.direction === "maximize"
      ? "; more is better"
      : "; less is better";
    const unit = known === undefined || ["1", "bytes", known.words].includes(known.unit)
      ? ""
      : `, in ${known.unit}`;
    const error = heading.endsWith("± SE") ? "; ± its standard error" : "";
    return [
      heading,
      COLUMN_WORDS[heading] ??
        `${metricTerm(metric, heading, context_tokens)}${unit}${better}${error}`,
    ] as const;
  });
}

/** Every trial, and what each column means. */
export function trialBlocks(view: StudyView): Block[] {
  return [
    heading(2, "Trials"),
    ...trialTables(view),
    {
      block: "fold",
      summary: "What the columns mean",
      blocks: [
        { block: "terms", terms: columnTerms(columnsOf(view), view.spec.context_tokens) },
      ],
    },
  ];
}
