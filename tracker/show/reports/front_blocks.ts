import { falseStops, type Neighbours, qualityMetric, trialName } from "../../../core/mod.ts";
import { differenceText } from "../view/difference_text.ts";
import { groupSentences } from "../view/group_words.ts";
import { number, percent } from "../view/number_text.ts";
import { nameIn } from "../view/size_words.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, paragraph, table } from "./blocks.ts";

/** A figure and the file that it is kept in beside the report; `svg` null: there is nothing to draw. */
export interface ReportFigure {
  readonly svg: string | null;
  /** The same for a phone. */
  readonly narrow?: string | null;
  readonly file: string;
}

/** The picture of the front, and the curve of what it gained; absent: the report says none of it. */
export interface ReportFigures {
  readonly svg: string;
  /** The same for a phone. */
  readonly narrow?: string;
  readonly file: string;
  readonly curve?: ReportFigure;
}

/** What the front gained over the baseline, how surely, and over what cost. */
export function curveBlocks(view: StudyView, { svg, narrow, file }: ReportFigure): Block[] {
  const { hypervolume, hypervolume_interval: interval } = view;
  if (hypervolume === null) return [];
  const range = interval === null
    ? ""
    : ` (95 % interval ${number(interval[0])} to ${
      number(interval[1])
    }, by the answers drawn again)`;
  const said = `The hypervolume of the front is ${number(hypervolume)}${range}. `;
  const why = view.message === null ? "The study is not closed." : `It ended: ${view.message}`;
  return [
    heading(2, "Search"),
    paragraph(said + why),
    ...stopBlocks(view),
    ...savedBlocks(view),
    ...(svg === null ? [] : [{
      block: "figure" as const,
      svg,
      ...(narrow == null ? {} : { narrow }),
      file,
      caption: "Hypervolume of the front as each episode left it; the band is its 95 % interval.",
    }]),
  ];
}

/** How many trials were stopped as unlikely to join, and how often that would have been wrong. */
function stopBlocks({ trials, front }: StudyView): Block[] {
  const { stopped, checked, on_front, interval: [low, high] } = falseStops(trials, front);
  if (stopped + checked === 0) return [];
  const count =
    `${stopped} trial${stopped === 1 ? " was" : "s were"} stopped as unlikely to join ` +
    "the front.";
  const share = checked === 0
    ? "None of those to be stopped was finished all the same, so that nothing tells how often a stop is wrong."
    : `Of ${checked} that were finished all the same, as one in ten is, ${on_front.length} ` +
      `${on_front.length === 1 ? "is" : "are"} on it: a stop is wrong in ${percent(low)} to ` +
      `${percent(high)} (95 %, Wilson).`;
  return [paragraph(`${count} ${share}`)];
}

/** What deciding before all samples were read has saved, beside what was told before; nothing: no study until decided. */
function savedBlocks({ trials }: StudyView): Block[] {
  const ended = trials.flatMap(({ number, gates }) =>
    gates.flatMap(({ samples, expected, unread }) =>
      unread === undefined ? [] : [{ number, samples, expected, unread }]
    )
  );
  if (ended.length === 0) return [];
  const unread = ended.reduce((sum, one) => sum + one.unread, 0);
  const each = ended.map(({ number, samples, expected }) => {
    const told = expected === undefined ? "" : `, about ${expected} told before`;
    return `${trialName(number)} after ${samples ?? "some"}${told}`;
  });
  return [
    paragraph(
      `Decided before all samples of a rung were read, so that ${unread} of them were not: ${
        each.join("; ")
      }.`,
    ),
  ];
}

/** Whether all samples of the benchmarks are read, which say exactly what holds of those. */
const isWhole = ({ samples, existing }: Neighbours) => existing === samples;

/** What would tell two members apart. */
function apartText(pair: Neighbours): string {
  const { told_apart, more, samples, existing } = pair;
  if (told_apart) return "they are";
  if (isWhole(pair)) return "all that exist are read";
  if (more === null) return "they hardly differ";
  const left = existing == null ? Infinity : existing - samples;
  return more > left ? `about ${more} more; ${left} exist and would decide` : `about ${more} more`;
}

/** What the samples cannot tell apart on the front, and what would. */
export function neighbourBlocks({ neighbours, groups, rows, spec }: StudyView): Block[] {
  if (neighbours.length === 0) return [];
  const metric = qualityMetric(spec);
  const apart = groups.length === 0
    ? "The samples tell every two of them apart in quality."
    : groupSentences({ groups, rows }).join(" ");
  return [
    heading(2, "The front, neighbour by neighbour"),
    paragraph(apart),
    table(
      ["better", "worse", "difference [95 %]", "samples", "to tell them apart"],
      neighbours.map((one) => [
        nameIn(one.better),
        nameIn(one.worse),
        differenceText({ metric, value: one.difference, interval: one.interval }),
        `${one.samples}`,
        apartText(one),
      ]),
      "Quality on the samples that both answered, the better one first; about 7 times the variance of a " +
        "pair over the squared difference would tell them apart." +
        (neighbours.some(isWhole)
          ? " All samples of these benchmarks are read, so that of them the differences are exact: the " +
            "intervals are of others like them."
          : ""),
    ),
  ];
}
