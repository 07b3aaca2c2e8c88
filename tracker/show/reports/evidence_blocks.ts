import {
  type ConstraintVerdict,
  inLimitUnit,
  limitUnit,
  limitWords,
  restingOn,
  trialName,
  weightsText,
  whatDecides,
} from "../../../core/mod.ts";
import { number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { recipeText } from "../view/trial_rows.ts";
import { benchmarkTable, partBlocks, protocolBlocks } from "./benchmark_blocks.ts";
import { agreementBlocks } from "./agreement_blocks.ts";
import { type Block, folded, heading, list, table } from "./blocks.ts";
import { modelBlocks } from "./provenance_blocks.ts";
import { figureBlocks } from "./figure_blocks.ts";
import { gateBlocks } from "./gate_blocks.ts";
import { timeBlocks } from "./limit_blocks.ts";
import { searchBlocks } from "./search_blocks.ts";
import { speedBlocks } from "./speed_blocks.ts";
import { RUNTIME_QUALITY_HEAD, runtimeQualityRows } from "./runtime_quality.ts";

function numericsLines(view: StudyView): string[] {
  const seen = new Set<string>();
  for (const trial of view.trials) {
    for (const m of trial.measurements) {
      if (m.metric !== "latency_ms" || m.numerics === null) continue;
      const { inference_precision, kv_precision, activation_group } = m.numerics;
      seen.add(
        `${m.runtime}: inference ${inference_precision}, KV cache ${kv_precision}, ` +
          (activation_group === 0
            ? "activations not quantized"
            : `activations quantized in groups of ${activation_group}`) +
          ` (${m.method ?? "median of repeats"})`,
      );
    }
  }
  return [...seen];
}

/** What a limit is on, with the unit of its figures. */
function constraintCell(constraint: string): string {
  const unit = limitUnit(constraint);
  return limitWords(constraint) + (unit === "" ? "" : `,${unit}`);
}

function limitFigure(constraint: string, value: number | null): string {
  return number(value === null ? null : inLimitUnit(constraint, value));
}

/**
 * The interval that a verdict rests on: none where all samples that exist decide it exactly. Taken batch by
 * batch it holds at any look, and so is wider than that of the difference itself.
 */
function verdictInterval({ constraint, interval, evidence }: ConstraintVerdict): string {
  if (interval === null) return "–";
  if (evidence !== undefined && evidence.samples === evidence.existing) return "exact";
  const ends = interval.map((end) => limitFigure(constraint, end)).join(" to ");
  return evidence === undefined ? ends : `${ends}, at any look`;
}

function verdictRows(view: StudyView): string[][] {
  return view.trials.flatMap((trial) =>
    trial.constraints.map((c) => [
      trialName(trial.number),
      constraintCell(c.constraint),
      limitFigure(c.constraint, c.threshold),
      limitFigure(c.constraint, c.value),
      verdictInterval(c),
      c.verdict + restingOn(c) +
      (c.verdict === "undecided" ? ` (${whatDecides(c, trial, view.spec)})` : ""),
    ])
  );
}

function failedRows(view: StudyView): string[][] {
  return view.trials.filter((trial) => trial.state !== "completed").map((trial) => [
    trialName(trial.number),
    recipeText(trial),
    trial.state,
    trial.failure?.message ?? trial.gates.find((g) => g.decision !== "pass")?.reason ?? "",
  ]);
}

function nameOf(view: StudyView, trial_id: string | null): string {
  const trial = view.trials.find((one) => one.trial_id === trial_id);
  return trial === undefined ? trial_id ?? "the study" : trialName(trial.number);
}

/** What looked wrong, as it was recorded. */
function alertRows(view: StudyView): string[][] {
  return view.alerts.map(({ trial_id, condition, evidence, action, outcome }) => [
    nameOf(view, trial_id),
    condition.replaceAll("_", " "),
    evidence,
    action,
    outcome ?? "–",
  ]);
}

function refusedRows(view: StudyView): string[][] {
  return [...view.refused_comparisons].map(([trial_id, why]) => [nameOf(view, trial_id), why]);
}

function whenAny(rows: string[][], title: string, head: string[]): Block[] {
  return rows.length === 0 ? [] : [heading(2, title), table(head, rows)];
}

/** What looked wrong; nothing where nothing did. */
export function alertBlocks(view: StudyView): Block[] {
  const head = ["trial", "condition", "evidence", "action", "outcome"];
  return whenAny(alertRows(view), "Alerts", head);
}

/** Benchmarks that were asked for and could not be had. */
export function missingLines({ spec }: StudyView): string[] {
  return spec.missing_tasks.map(({ task, reason }) => `Not measured: ${task}: ${reason}`);
}

/** The benchmarks as the original scores, and the protocol that all trials share with it. */
function baselineBlocks(view: StudyView): Block[] {
  const baseline = view.trials.find((t) => t.strategy === null && t.state === "completed");
  if (baseline === undefined) return [];
  return [
    heading(2, "Benchmarks and protocol"),
    benchmarkTable(view, baseline, "baseline"),
    ...partBlocks(view, baseline),
    ...protocolBlocks(view),
  ];
}

const CONSTRAINT_HEAD = [
  "trial",
  "constraint",
  "threshold",
  "value",
  "95 % interval",
  "verdict",
];

/** What failed and why: nothing of it is left out of a report. */
export function failureBlocks(view: StudyView): Block[] {
  const refused = view.spec.methods.filter((m) => !m.supported).map((m) => [m.method, m.reason]);
  return [
    ...whenAny(failedRows(view), "Not measured to the end", ["trial", "strategy", "state", "why"]),
    ...whenAny(refusedRows(view), "Not compared", ["trial", "why"]),
    ...alertBlocks(view),
    ...whenAny(refused, "Methods refused for this model or machine", ["method", "why"]),
  ];
}

/** How it was decided what is tried, what goes on and what is sound; `searched`: how it was searched. */
export function decisionPart(view: StudyView, searched: readonly Block[]): Block[] {
  const inner = [
    ...whenAny(verdictRows(view), "Constraints", CONSTRAINT_HEAD),
    ...gateBlocks(view),
    ...agreementBlocks(view),
    ...searchBlocks(view),
    ...searched,
  ];
  return inner.length === 0 ? [] : [heading(2, "How it was decided"), ...folded(inner)];
}

/** What was measured beside quality, and of the artifacts. */
function besideQuality(view: StudyView): Block[] {
  return [
    ...speedBlocks(view),
    ...figureBlocks(view),
    ...whenAny(runtimeQualityRows(view), "Scored as they run", RUNTIME_QUALITY_HEAD),
  ];
}

/** How everything was measured: what makes the report defensible. */
export function measuredPart(view: StudyView): Block[] {
  const { spec } = view;
  return [
    heading(2, "How it was measured"),
    ...list([
      ...numericsLines(view),
      ...missingLines(view),
      `Reward weights: ${
        weightsText(spec.reward_weights)
      }. The reward steers the search; the front is the claim.`,
    ]),
    ...folded([
      ...baselineBlocks(view),
      ...besideQuality(view),
      ...modelBlocks(view),
      ...timeBlocks(view),
    ]),
  ];
}
