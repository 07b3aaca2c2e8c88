import {
  type Measurement,
  metricWords,
  qualityMetric,
  scaleOf,
  trialName,
} from "../../../core/mod.ts";
import { duration, number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Authorship, dayOf, titleOf } from "./answer_blocks.ts";
import { type Block, heading, list, paragraph, table } from "./blocks.ts";

/** The smallest difference of quality that the paired samples of a trial would tell from none. */
function smallestDifference({ rows, spec }: StudyView): string | null {
  const metric = qualityMetric(spec);
  const halves = rows.flatMap(({ difference }) =>
    difference?.interval == null ? [] : [(difference.interval[1] - difference.interval[0]) / 2]
  ).sort((a, b) => a - b);
  const middle = halves[Math.floor(halves.length / 2)];
  if (middle === undefined) return null;
  const shown = scaleOf(metric).relative ? `${number(100 * middle, 2)} %` : number(middle, 2);
  return `A difference of ${
    metricWords(metric)
  } to the original below about ${shown} cannot be told from none ` +
    "with these samples (half the median 95 % interval).";
}

function isEstimated({ provenance }: Measurement): boolean {
  return provenance !== "measured";
}

/** Whether any of its trials has a time or a peak of memory. */
export const isTimed = ({ rows }: Pick<StudyView, "rows">): boolean =>
  rows.some(({ latency_ms, memory_bytes }) => latency_ms !== null || memory_bytes !== null);

/** What a reader must not conclude from it. */
export function limitBlocks(view: StudyView): Block[] {
  const { facts, spec, rows, request } = view;
  const open = rows.filter(({ undecided, state }) => undecided && state === "completed");
  const estimated = new Set(
    view.trials.flatMap(({ measurements }) => measurements.filter(isEstimated))
      .map(({ metric, provenance }) => `${metricWords(metric)} (${provenance})`),
  );
  const lines = [
    smallestDifference(view),
    `Quality is that of ${facts.dataset.dataset} alone: other uses of the model were not measured.`,
    isTimed(view)
      ? `Speed and memory are those of ${facts.device.device_name} with ${spec.runtime}; another ` +
        "machine or runtime may order the trials otherwise."
      : null,
    `One seed (${request.seed}): methods that draw at random would come out a little different with ` +
    "another.",
    rows.length > 2
      ? "The best of several trials looks better than it is: its advantage partly is luck. The " +
        "intervals are of one comparison each; p (Holm) counts a trial's tasks, not the trials."
      : null,
    estimated.size === 0 ? null : `Not measured but estimated: ${[...estimated].join(", ")}.`,
    open.length === 0
      ? null
      : `Constraints of ${open.map(({ number: count }) => trialName(count)).join(", ")} are not ` +
        "decided by these samples.",
    ...spec.missing_tasks.map(({ task, reason }) => `${task} is missing: ${reason}`),
  ];
  return [heading(2, "Limits"), ...list(lines.filter((line) => line !== null))];
}

/** Text as BibTeX takes it. */
export function escapeTex(text: string): string {
  const by: Record<string, string> = {
    ...{ "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" },
    ...{ "×": "$\\times$", "−": "$-$", "±": "$\\pm$", "–": "--", "α": "$\\alpha$" },
    ...{ "β": "$\\beta$", "≤": "$\\leq$", "≥": "$\\geq$", "→": "$\\to$" },
  };
  return text.replace(/[\\~^×−±–αβ≤≥→]|[&%$#_{}]/g, (one) => by[one] ?? `\\${one}`)
    .replace(/\s+/g, " ");
}

/** The entry that cites a study's report. */
export function bibtex(view: StudyView, { author }: Authorship): string {
  const day = dayOf(view);
  const fields = [
    ["author", author === undefined || author === "" ? null : `{${escapeTex(author)}}`],
    ["title", `{${escapeTex(`Compression of ${titleOf(view)}: a report of pare`)}}`],
    ["year", day === null ? null : `{${day.slice(0, 4)}}`],
    ["month", day === null ? null : String(Number(day.slice(5, 7)))],
    ["howpublished", "{Report of a pare study}"],
    [
      "note",
      `{Study ${escapeTex(view.study_id)}, pare ${escapeTex(view.provenance.pare_version)}, code ${
        escapeTex(view.provenance.code_commit ?? "unknown")
      }}`,
    ],
  ].flatMap(([name, value]) => value === null ? [] : [`  ${name} = ${value}`]);
  const key = view.study_id.replaceAll(/[^A-Za-z0-9:-]/g, "-");
  return `@misc{${key},\n${fields.join(",\n")}\n}`;
}

/** How to cite it. */
export function citeBlocks(view: StudyView, by: Authorship): Block[] {
  const named = by.author === undefined || by.author === ""
    ? [paragraph("No author was named (`pare report --author`).")]
    : [];
  return [
    heading(2, "How to cite"),
    ...named,
    { block: "code", language: "bibtex", text: bibtex(view, by) },
  ];
}

/** Below so many seconds a phase is one of several that hardly took time. */
const LEAST_SECONDS = 0.5;

/** Where the time went; phases that hardly took any in one line. */
export function timeBlocks({ phases }: Pick<StudyView, "phases">): Block[] {
  const told = phases.filter(({ seconds }) => seconds >= LEAST_SECONDS);
  const rest = phases.filter(({ seconds }) => seconds > 0 && seconds < LEAST_SECONDS)
    .reduce((sum, { seconds }) => sum + seconds, 0);
  const rows = told.map(({ name, seconds }) => [name.replaceAll("_", " "), duration(seconds)]);
  if (rest >= 0.05) rows.push(["everything else", duration(rest)]);
  return rows.length === 0 ? [] : [heading(2, "Time"), table(["phase", "time"], rows)];
}
