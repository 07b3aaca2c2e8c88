import {
  isQualityMetric,
  kindOf,
  metricWords,
  type ReportPart,
  type Trial,
  trialName,
} from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";
import { recipeText } from "../view/trial_rows.ts";
import { answerBlocks, askedBlocks, type Authorship, titleBlocks } from "./answer_blocks.ts";
import { type Block, folded, heading, list, paragraph } from "./blocks.ts";
import { protocolBlocks } from "./benchmark_blocks.ts";
import { comparisonBlocks } from "./comparison_blocks.ts";
import { evaluatedBlocks, scoreBlocks } from "./evaluation_blocks.ts";
import {
  alertBlocks,
  decisionPart,
  failureBlocks,
  measuredPart,
  missingLines,
} from "./evidence_blocks.ts";
import { curveBlocks, neighbourBlocks, type ReportFigures } from "./front_blocks.ts";
import { citeBlocks, limitBlocks, timeBlocks } from "./limit_blocks.ts";
import { assumptionBlocks, modelBlocks, runAgainBlocks } from "./provenance_blocks.ts";
import { trialBlocks } from "./trial_blocks.ts";

/** What the figure's panels are of, in words: each cost of the front has one. */
function drawnWords({ objectives }: StudyView): string {
  const costs = objectives.filter((one) => !isQualityMetric(one));
  return `Quality over ${costs.map((one) => metricWords(one)).join(" and over ")}. `;
}

function knobLines(trial: Trial): string[] {
  return trial.actions.map((action) => {
    const filledIn = action.resolved.filter(({ by }) => by === "default" || by === "method");
    const auto = new Set(filledIn.map((k) => k.knob));
    const chosen = Object.entries(action.params).filter(([knob]) => !auto.has(knob));
    const filled = filledIn
      .map((k) => `${k.knob}=${k.value} (${k.by}${k.reason === null ? "" : `: ${k.reason}`})`);
    const by = new Set(action.resolved.filter((k) => !auto.has(k.knob)).map((k) => k.by));
    const given = chosen.map(([knob, value]) => `${knob}=${value}`).join(", ");
    const parts = [
      ...(given === "" ? [] : [`${given} (chosen by ${[...by].join(", ")})`]),
      ...(filled.length === 0 ? [] : [`filled in: ${filled.join(", ")}`]),
    ];
    return `\`${action.method}\`: ${parts.join("; ") || "it has no knobs"}`;
  });
}

function frontSection(view: StudyView, best: number): Block[] {
  const members = view.front.slice(0, best).flatMap((id) => {
    const trial = view.trials.find((one) => one.trial_id === id);
    const row = view.rows.find((one) => one.trial_id === id);
    return trial === undefined || row === undefined || row.baseline ? [] : [{ trial, row }];
  });
  if (members.length === 0) return [paragraph("No trial is on the front beside the baseline.")];
  return members.flatMap(({ trial, row }) => [
    heading(3, `${trialName(row.number)}: ${recipeText(trial)}`),
    paragraph(trial.strategy?.origin.reason ?? ""),
    ...list(knobLines(trial)),
  ]);
}

/** What was noted of the study and its trials, by a method or by hand; what several share, once. */
function notesSection(view: StudyView): Block[] {
  if (view.notes.length === 0) return [];
  const of = (trial_id: string | null) => {
    const row = view.rows.find((one) => one.trial_id === trial_id);
    return row === undefined ? trial_id ?? "the study" : trialName(row.number);
  };
  const lines = [...Map.groupBy(view.notes, ({ text }) => text)].map(([text, notes]) =>
    `${[...new Set(notes.map(({ trial_id }) => of(trial_id)))].join(", ")}: ${text}`
  );
  return [heading(2, "Notes"), ...list(lines)];
}

/** The front as it is drawn; its points answer where the page has a script, and weights choose. */
function frontFigure(view: StudyView, { svg, narrow, file }: ReportFigures): Block[] {
  const { spec } = view;
  const caption = drawnWords(view) + "Bars are 95 % intervals: upwards of the difference to the " +
    "baseline, paired by sample, sidewards of the ratio to it. A trial without one was not " +
    "evaluated in full.";
  const weights: Block = {
    block: "weights",
    weights: spec.reward_weights,
    words:
      "Which point of the front is recommended depends on what you care for. Move the weights: " +
      "the dashed ring is what the study's own rule would choose with them.",
  };
  return [
    {
      ...{ block: "figure", svg, file, caption, points: true },
      ...(narrow === undefined ? {} : { narrow }),
    },
    ...(view.front.length > 1 ? [weights] : []),
  ];
}

/** What a report takes beside its study. */
export interface ReportParts extends Authorship {
  /** How many members of the front are described; default: 5. */
  readonly best?: number;
  /** What else is told of the search, such as what it believed. */
  readonly search?: readonly Block[];
  /** What its kind of run alone tells. */
  readonly own?: readonly Block[];
  /** Whether `reproduce.sh` stands beside it. */
  readonly repeats?: boolean;
}

/** What the parts of a report are made of. */
interface Told {
  readonly view: StudyView;
  readonly figures: ReportFigures | null;
  readonly loader: string;
  readonly by: Authorship;
  readonly given: Required<Omit<ReportParts, "author">>;
}

/** What is told of the search where decisions are: its curve, then what was given beside it. */
function searched({ view, figures, given }: Told): Block[] {
  const { curve } = figures ?? {};
  return [...(curve === undefined ? [] : curveBlocks(view, curve)), ...given.search];
}

function frontPart({ view, figures, given }: Told): Block[] {
  if (figures === null) return [];
  const oneByOne = [heading(2, "The front, one by one"), ...frontSection(view, given.best)];
  return [
    heading(2, "The front"),
    ...frontFigure(view, figures),
    ...folded([...oneByOne, ...neighbourBlocks(view)]),
  ];
}

function nextPart({ next }: StudyView): Block[] {
  const lines = list([...next]);
  return lines.length === 0 ? [] : [heading(3, "What to try next"), ...lines];
}

/** Every part that a report may have, by its name in the contract of kinds. */
const PARTS: Readonly<Record<ReportPart, (told: Told) => readonly Block[]>> = {
  title: ({ view, by }) => titleBlocks(view, by),
  answer: ({ view, loader }) => answerBlocks(view, loader),
  asked: ({ view }) => askedBlocks(view),
  assumed: ({ view }) => folded(assumptionBlocks(view)),
  own: ({ given }) => given.own,
  front: frontPart,
  trials: ({ view }) => trialBlocks(view),
  comparison: ({ view }) => comparisonBlocks(view),
  failures: ({ view }) => folded([...failureBlocks(view), ...notesSection(view)]),
  decisions: (told) => decisionPart(told.view, searched(told)),
  measured: ({ view }) => measuredPart(view),
  limits: ({ view }) => limitBlocks(view),
  next: ({ view }) => nextPart(view),
  evaluated: ({ view }) => evaluatedBlocks(view),
  scores: ({ view }) => scoreBlocks(view),
  missing: ({ view }) => list(missingLines(view)),
  alerts: ({ view }) => alertBlocks(view),
  protocol: ({ view }) => protocolBlocks(view),
  model: ({ view }) => view.facts.model.source === "endpoint" ? [] : modelBlocks(view),
  samples: ({ view }) => assumptionBlocks(view, (field) => SAMPLES.includes(field)),
  run_again: ({ view, given }) => runAgainBlocks(view, given.repeats),
  time: ({ view }) => timeBlocks(view),
  cite: ({ view, by }) => folded(citeBlocks(view, by)),
};

/** Of the assumptions: those that a figure depends on where nothing is compressed. */
const SAMPLES = ["samples.full"];

/**
 * The whole report of a study: the parts of its kind of run, in the order in which a reader asks, and
 * what few readers want below lines that they open. `figures` null: it has no front. `loader` holds the
 * lines that load the recommended checkpoint; empty where there is none.
 */
export function studyReport(
  view: StudyView,
  figures: ReportFigures | null,
  loader: string,
  { best = 5, search = [], own = [], repeats = false, ...by }: ReportParts = {},
): Block[] {
  const told = { view, figures, loader, by, given: { best, search, own, repeats } };
  return kindOf(view.request).shown.parts.flatMap((part) => [...PARTS[part](told)]);
}
