import {
  chanceOf,
  type Measurement,
  metricWords,
  type Trial,
  trialName,
} from "../../../core/mod.ts";
import { number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, list, table } from "./blocks.ts";

/** Beside the baseline, columns of the tables of parts. */
const TRIALS_BESIDE = 5;

/** Whether a figure is of an evaluation: of a benchmark, by whatever metric, or the mean over all. */
export function isQuality({ metric, task, runtime }: Measurement): boolean {
  return runtime === null && (task !== null || metric === "accuracy");
}

function withError({ value, standard_error }: Measurement): string {
  const error = standard_error === null ? "" : ` ± ${number(standard_error, 2)}`;
  return `${number(value, 4)}${error}`;
}

/** Tasks by name, then the mean over them. */
function wholeTasks({ measurements }: Trial): Measurement[] {
  const whole = measurements.filter((one) => isQuality(one) && one.slice === null);
  return [
    ...whole.filter(({ task }) => task !== null),
    ...whole.filter(({ task }) => task === null),
  ];
}

function chanceCell({ spec }: StudyView, row: Measurement): string {
  if (!row.metric.endsWith("accuracy")) return "–";
  const chance = chanceOf(row, spec);
  return chance === null ? "not known" : number(chance, 3);
}

/** Every benchmark of one trial: its figure and how it came to be. */
export function benchmarkTable(view: StudyView, trial: Trial, whose: string): Block {
  return table(
    ["task", "version", "metric", `${whose} ± SE`, "chance", "n", "fidelity", "how"],
    wholeTasks(trial).map((one) => [
      one.task ?? "all",
      one.task_version ?? "–",
      metricWords(one.metric),
      withError(one),
      chanceCell(view, one),
      String(one.n),
      one.fidelity,
      `${one.provenance === "measured" ? "" : `${one.provenance}: `}${one.method ?? "–"}`,
    ]),
  );
}

/** What a comparison depends on: equal lines may be compared. */
export function protocolBlocks({ protocol_parts }: StudyView): Block[] {
  const lines = Object.entries(protocol_parts).map(([task, parts]) => {
    const told = Object.entries(parts).filter(([, value]) => value !== "null");
    return `${task}: ${told.map(([part, value]) => `${part} ${value}`).join("; ")}`;
  });
  if (lines.length === 0) return [];
  return [heading(3, "Protocols"), ...list(lines)];
}

/** Whether a slice is a mean over a benchmark's parts, such as mean_of_subjects, and none of them. */
export function isMeanOfParts(slice: string): boolean {
  return /^(mean_of_|weighted_by_)/.test(slice);
}

/** A benchmark's means before its parts, both by name. */
function inOrder(slices: readonly Measurement[]): Measurement[] {
  const isMean = ({ slice }: Measurement) => isMeanOfParts(slice ?? "");
  const byName = (a: Measurement, b: Measurement) => (a.slice ?? "").localeCompare(b.slice ?? "");
  return [
    ...slices.filter(isMean).sort(byName),
    ...slices.filter((one) => !isMean(one)).sort(byName),
  ];
}

/**
 * The parts of every benchmark that has some (MMLU's subjects, both of its means), the baseline's
 * beside those of the first trials on the front.
 */
export function partBlocks(view: StudyView, reference: Trial): Block[] {
  const beside = view.front.slice(0, TRIALS_BESIDE)
    .flatMap((id) => view.trials.filter((one) => one.trial_id === id && one !== reference));
  const slices = reference.measurements.filter((one) => isQuality(one) && one.slice !== null);
  const tasks = [...new Set(slices.map(({ task }) => task))];
  return tasks.flatMap((task) => {
    const own = inOrder(slices.filter((one) => one.task === task));
    const rows = own.map((one) => [
      one.slice ?? "",
      String(one.n),
      withError(one),
      ...beside.map(({ measurements }) => {
        const found = measurements.find((other) =>
          other.task === task && other.slice === one.slice && other.metric === one.metric &&
          other.fidelity === one.fidelity
        );
        return found === undefined ? "–" : withError(found);
      }),
    ]);
    return [
      heading(3, `Parts of ${task}`),
      table([
        "part",
        "n",
        trialName(reference.number),
        ...beside.map(({ number: count }) => trialName(count)),
      ], rows),
    ];
  });
}
