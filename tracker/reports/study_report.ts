import {
  type Artifact,
  isQualityMetric,
  knownMetric,
  metricOf,
  type Spec,
  type Trial,
  trialName,
} from "../../core/mod.ts";
import { bytes, duration, number, percent } from "../view/number_text.ts";
import { recommendedSize } from "../view/size_words.ts";
import { checkpointOf, modelLabel, type StudyView } from "../view/study_view.ts";
import { type TrialColumn, trialColumns } from "../view/trial_columns.ts";
import { recipeText, rungText, standing, type TrialRow } from "../view/trial_rows.ts";
import { unsafeSentence } from "../view/unsafe_code.ts";
import { type Block, heading, list, paragraph, table } from "./blocks.ts";
import { evidenceBlocks } from "./evidence_blocks.ts";
import { curveBlocks, neighbourBlocks, type ReportFigures } from "./front_blocks.ts";

function ratio(row: TrialRow, view: StudyView): string {
  return row.size_bytes === null
    ? "–"
    : `${(view.facts.model.fp16_bytes / row.size_bytes).toFixed(2)}×`;
}

const ENERGY = knownMetric("energy_j_per_1k_tokens", "metric");

const energyColumn: TrialColumn = {
  metric: ENERGY.name,
  heading: ENERGY.heading,
  cell: (row) => number(row.energy?.value),
};

/** What the figure's panels are of, in words: each cost of the front has one. */
function drawnWords({ objectives }: StudyView): string {
  const costs = objectives.filter((one) => !isQualityMetric(one));
  return `Quality over ${costs.map((one) => metricOf(one)?.words ?? one).join(" and over ")}. `;
}

function summaryTable(view: StudyView): Block {
  const columns = [
    ...trialColumns(view),
    { metric: "compression_ratio", heading: "ratio", cell: (row: TrialRow) => ratio(row, view) },
    energyColumn,
  ].filter(({ metric }, i, all) => all.findIndex((one) => one.metric === metric) === i);
  const rows = view.rows.map((row) => [
    trialName(row.number),
    row.recipe,
    ...columns.map(({ cell }) => cell(row)),
    number(row.reward),
    rungText(row),
    percent(row.front_probability),
    standing(row, view.recommended),
  ]);
  const runtime = view.rows.find((row) => row.runtime !== null)?.runtime ?? view.spec.runtime;
  const energy = view.rows.find((row) => row.energy !== null)?.energy?.method ?? "not measured";
  return table(
    [
      "trial",
      "recipe",
      ...columns.map(({ heading }) => heading),
      "reward",
      "fidelity",
      "P(front)",
      "",
    ],
    rows,
    `Latency and peak memory: ${runtime}. × baseline: time per token over the baseline's of the same ` +
      "minutes, measured in turn, ± half its 95 % interval; trials of one stored form share it. " +
      "ms/token: that ratio times one baseline, the median over the study. " +
      `Ratio: fp16 bytes of the original (${bytes(view.facts.model.fp16_bytes)}) over bytes on ` +
      `disk; the file as it came holds ${bytes(view.facts.model.original_bytes)}. ` +
      `Energy: ${energy}; an estimate is shown and never an objective.`,
  );
}

function outcome(view: StudyView, loader: string): Block[] {
  const row = view.rows.find((one) => one.trial_id === view.recommended);
  const size = recommendedSize(view);
  const sized = size === null ? [] : [paragraph(size)];
  if (row === undefined) {
    return [
      paragraph(
        "**No trial is recommended: keep the original.** " + view.reasons.join(" "),
      ),
      ...sized,
    ];
  }
  const artifact = checkpointOf(view, row.trial_id);
  const blocks: Block[] = [
    paragraph(`**Recommended: ${trialName(row.number)}, ${row.recipe}.**`),
    ...sized,
    ...list([...view.reasons]),
  ];
  if (artifact !== undefined) {
    blocks.push(
      paragraph(`Checkpoint: \`${artifact.location}\`${weightsWords(view, artifact)}`),
      { block: "code", language: "python", text: loader },
      ...list([...artifact.notes ?? []]),
    );
  }
  return blocks;
}

/** Of a setting: where the weights lie that it needs. */
function weightsWords({ artifacts }: StudyView, { weights_id }: Artifact): string {
  if (weights_id === undefined) return "";
  const place = artifacts.get(weights_id)?.location;
  const where = place === undefined ? "" : ` in \`${place}\``;
  return `, a setting of the weights ${weights_id}${where}, without a copy of them`;
}

function unsafeBlock(view: StudyView): Block[] {
  const sentence = unsafeSentence(view);
  return sentence === null ? [] : [paragraph(`**${sentence}**`)];
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

function constraintsLine(spec: Spec): string {
  const { max_accuracy_drop, max_latency_ms, max_size_gb, max_vram_gb } = spec.constraints;
  return [
    `accuracy drop at most ${max_accuracy_drop} (absolute)`,
    max_latency_ms === null ? "" : `latency at most ${max_latency_ms} ms per token`,
    max_size_gb === null ? "" : `size at most ${max_size_gb} GB`,
    max_vram_gb === null ? "" : `memory at most ${max_vram_gb} GB`,
  ].filter((text) => text !== "").join("; ");
}

/**
 * The whole report of a study, the best N members of the front described one by one. `loader`
 * holds the lines that load the recommended checkpoint; empty where there is none.
 */
export function studyReport(
  view: StudyView,
  { svg, file, curve }: ReportFigures,
  loader: string,
  best = 5,
): Block[] {
  const { dataset } = view.facts;
  const done = view.trials.filter((trial) => trial.number > 0);
  const valid = done.filter((trial) => trial.state === "completed").length;
  return [
    heading(1, `${modelLabel(view.facts)} on ${dataset.dataset}`),
    paragraph(
      `Study \`${view.study_id}\`: ${done.length} trials, ${valid} of them measured to the end. ` +
        `Ended: ${(view.message ?? view.stop ?? "still running").replace(/\.$/, "")}. ` +
        `Constraints: ${constraintsLine(view.spec)}.`,
    ),
    ...unsafeBlock(view),
    ...(view.front_note === null ? [] : [paragraph(`**${view.front_note}**`)]),
    ...outcome(view, loader),
    {
      block: "figure",
      svg,
      file,
      caption: drawnWords(view) + "Bars are 95 % intervals: upwards of the difference to the " +
        "baseline, paired by sample, sidewards of the ratio to it. A trial without one was not " +
        "evaluated in full.",
    },
    heading(2, "Trials"),
    summaryTable(view),
    heading(2, "The front, one by one"),
    ...frontSection(view, best),
    ...neighbourBlocks(view),
    ...notesSection(view),
    ...(curve === undefined ? [] : curveBlocks(view, curve)),
    heading(2, "What to try next"),
    ...list([...view.next]),
    ...evidenceBlocks(view),
    heading(2, "Time"),
    table(["phase", "time"], view.phases.map((p) => [p.name, duration(p.seconds)])),
  ];
}
