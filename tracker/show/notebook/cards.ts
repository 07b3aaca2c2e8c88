import {
  type GateDecision,
  type Proposal,
  type ResolvedAction,
  type Trial,
  trialName,
} from "../../../core/mod.ts";
import { type Column, escapeHtml, tableHtml } from "../pages/client/table.js";
import { DISPLAY, type Media } from "../../ground/terminal/kernel.ts";
import { bytes, counted, duration, number } from "../view/number_text.ts";
import { modelLabel, type StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";
import { figuresOf, type TrialFigures } from "../view/trial_figures.ts";
import { trialRows } from "../view/trial_rows.ts";
import { type Displayed, displayed } from "./display.ts";
import { tableMedia } from "./table.ts";
import { findTrial, trialsMedia } from "./trial_tables.ts";

/** Name and value of a card's lines. */
export type CardLines = readonly (readonly [name: string, value: string])[];

const CARD_COLUMNS: readonly Column<CardLines[number]>[] = [
  { heading: "", cell: ([name]) => name, numeric: false, heads: true },
  { heading: "", cell: ([, value]) => value, numeric: false },
];

/** A card: a title, lines of name and value, and what stands below. */
export function cardMedia(title: string, lines: CardLines, below: readonly Media[] = []): Media {
  const table = tableHtml(CARD_COLUMNS, lines, { inline: true, sortable: false });
  const html = `<div style="color:var(--jp-ui-font-color1,currentColor)"><p><strong>` +
    `${escapeHtml(title)}</strong></p>${table}</div>`;
  const widest = Math.max(0, ...lines.map(([name]) => name.length));
  const text = lines.map(([name, value]) => `${name.padEnd(widest)}  ${value}`);
  return {
    "text/html": html + below.map((one) => one["text/html"]).join(""),
    "text/plain": [title, ...text, ...below.flatMap((one) => ["", one["text/plain"]])].join("\n"),
  };
}

/** What a study is of: known before anything has run. */
export type StudyAbout = Pick<StudyView, "study_id" | "request" | "facts" | "spec">;

function aboutLines({ request, facts, spec }: StudyAbout): [string, string][] {
  const { model, device } = facts;
  const limits = [
    ...(request.max_trials === undefined ? [] : [counted(request.max_trials, "trial")]),
    ...(request.budget_seconds === undefined ? [] : [duration(request.budget_seconds)]),
  ];
  return [
    ["model", `${modelLabel(facts)}, ${number(model.parameters / 1e6)} M parameters`],
    ["dataset", `${facts.dataset.dataset}: ${spec.tasks.map(({ task }) => task).join(", ")}`],
    ["machine", `${device.device_name}, ${device.cores} cores`],
    ["objectives", spec.objectives.map(({ metric }) => metric).join(", ")],
    ["runtime", spec.runtime],
    ["methods", spec.methods.map((one) => typeof one === "string" ? one : one.method).join(", ")],
    ["limits", limits.length === 0 ? "none given" : limits.join(", ")],
  ];
}

/** A study that has not begun; `null` as its view. Else with its front. */
export function studyMedia(about: StudyAbout, view: StudyView | null): Media {
  if (view === null) {
    return cardMedia(`Study ${about.study_id}`, [
      ...aboutLines(about),
      ["so far", "nothing has run: run() runs it to its end"],
    ]);
  }
  const done = view.rows.filter(({ baseline }) => !baseline).length;
  const recommended = view.rows.find(({ trial_id }) => trial_id === view.recommended);
  const lines: [string, string][] = [
    ...aboutLines(view),
    ["so far", `${done} ${done === 1 ? "trial" : "trials"}, ${view.front.length} on the front`],
    ["ended", view.message ?? "not yet: it is open, or was killed"],
  ];
  if (recommended !== undefined) {
    const why = view.reasons[0] === undefined ? "" : `. ${view.reasons[0]}`;
    lines.push(["recommended", `${trialName(recommended.number)}, ${recommended.recipe}${why}`]);
  } else if (view.reasons[0] !== undefined) lines.push(["recommended", view.reasons[0]]);
  return cardMedia(`Study ${view.study_id}`, lines, [trialsMedia(view, view.front)]);
}

/** One trial: its figures as a flat row, what was done and what the gates decided. */
export type TrialCard = Displayed<
  { readonly [Name in keyof TrialFigures]: TrialFigures[Name] } & {
    readonly actions: readonly ResolvedAction[];
    readonly gates: readonly GateDecision[];
  }
>;

const CARD = [
  "recipe",
  "standing",
  "fidelity",
  "figures",
  "front_probability",
  "seconds",
] as const;

/** A trial by its number, its name or its id, as a card. */
export function trialCard(view: StudyView, name: string | number): TrialCard {
  const row = findTrial(view, name);
  const { actions, gates } = view.trials.find(({ trial_id }) => trial_id === row.trial_id)!;
  const lines: [string, string][] = [
    ...trialColumns(view, CARD).map(({ heading, cell }): [string, string] => [heading, cell(row)]),
    ...(row.reason === null ? [] : [["reason", row.reason] as [string, string]]),
    ...view.notes.filter(({ trial_id }) => trial_id === row.trial_id)
      .map(({ text }): [string, string] => ["note", text]),
  ];
  const below = gates.length === 0 ? [] : [gatesMedia(gates)];
  // The columns of a row are cells; what stands beside them is not one of its columns.
  const card = { ...figuresOf(view, row), actions, gates } as unknown as TrialCard;
  const title = `Trial ${trialName(row.number)} of ${view.study_id}`;
  return displayed(card, () => cardMedia(title, lines, below));
}

function gatesMedia(gates: readonly GateDecision[]): Media {
  return tableMedia([
    { heading: "gate", cell: ({ gate }) => gate },
    { heading: "decision", cell: ({ decision }) => decision },
    { heading: "reason", cell: ({ reason }) => reason ?? "" },
  ], gates);
}

/** The card of a trial that may be held still, of which the journal tells no end yet. */
export function trialCardOf(view: StudyView, trial: Trial): TrialCard {
  return trialCard(withTrial(view, trial), trial.trial_id);
}

function withTrial(view: StudyView, trial: Trial): StudyView {
  if (view.rows.some(({ trial_id }) => trial_id === trial.trial_id)) return view;
  const comparable = { ...trial, latency: null };
  const rows = trialRows([comparable], {
    front: [],
    probabilities: {},
    artifacts: view.artifacts,
  });
  return { ...view, trials: [...view.trials, comparable], rows: [...view.rows, ...rows] };
}

/** One turn of the loop. */
export type EpisodeCard = Displayed<{
  /** Of this drive, from 1. */
  readonly number: number;
  readonly trial: TrialCard;
  /** Trial ids on the front as it stands, best first. */
  readonly front: readonly string[];
  readonly hypervolume: number | null;
}>;

/** An episode that ended just now. */
export function episodeCard(view: StudyView, number: number, trial: Trial): EpisodeCard {
  const card = trialCardOf(view, trial);
  const { front, hypervolume } = view;
  const episode = { number, trial: card, front, hypervolume };
  return Object.defineProperty(episode, DISPLAY, { value: card[DISPLAY] }) as EpisodeCard;
}

/** What formulas tell of a recipe that was not tried yet. */
function beforehandLines(
  { size_bytes, read_ratio, roofline_ms, kl }: Proposal["beforehand"],
): [string, string][] {
  const least = roofline_ms === null ? "" : `, in ${number(roofline_ms, 2)} ms at best`;
  const told: [string, string | null][] = [
    ["size by formula", size_bytes === null ? null : bytes(size_bytes)],
    [
      "a token reads",
      read_ratio === null ? null : `${number(read_ratio, 2)} of the original's bytes${least}`,
    ],
    ["KL by layers' scores", kl === null ? null : `${number(kl, 2)} nats/token`],
  ];
  return told.filter((line): line is [string, string] => line[1] !== null);
}

/** What would be run next, knob by knob. */
export function proposalMedia({ resolved, origin, beforehand }: Proposal): Media {
  const lines = resolved.flatMap(({ agent, method, resolved: knobs }): [string, string][] => [
    [method, agent],
    ...knobs.map(({ knob, value, by }): [string, string] => [`  ${knob}`, `${value} (${by})`]),
  ]);
  return cardMedia(`Proposed by ${origin.sampler}: ${origin.mode}`, [
    ...lines,
    ...beforehandLines(beforehand),
    ["because", origin.reason],
  ]);
}
