import { FULL, FULL_CACHE, type SampleResult } from "../../../core/mod.ts";
import type { RecordedStudy, RecordedTrial } from "../../lab/recorded_trial.ts";
import { ENDLESS, type ResultRow, type ResultTable } from "../../show/sweep/result_table.ts";
import { resultsMarkdown } from "../../show/sweep/results_markdown.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { comparedRows, type SamplesByTrial, verdictOn } from "./compared_rows.ts";
import { resultsLatex } from "./results_latex.ts";
import { managerPage, samplesCsv } from "./role_files.ts";

/** What the files are made of. */
export interface ResultSources {
  readonly view: StudyView;
  readonly table: ResultTable;
  readonly samples: SamplesByTrial;
  readonly recorded: RecordedStudy;
  /** Texts of the locks of its environments, by their place in a report's folder. */
  readonly locks: Readonly<Record<string, string>>;
  /** `EXP-047`, where the queue ran the study. */
  readonly experiment: string | null;
  /** The method whose rows are held against the others'; null: that of the recommended trial, if any. */
  readonly ours: string | null;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A part of a path that every file system takes. */
const safe = (text: string): string => text.replaceAll(/[^A-Za-z0-9._+-]+/g, "-");

/** `{method}_{model}_{budget}`, with the trial where another row would have the same. */
export function folderOf(row: ResultRow, { rows, model }: ResultTable): string {
  const name = (one: ResultRow) => {
    const budget = one.method === FULL_CACHE ? FULL_CACHE : one.budget.replace("%", "pct");
    return [one.method, model.split("/").at(-1)!, budget].map(safe).join("_");
  };
  const same = rows.filter((one) => name(one) === name(row));
  return same.length > 1 ? `${name(row)}_${row.name}` : name(row);
}

/** `EXP-047-t05` where the queue ran it, else the trial's own id. */
function experimentOf(row: ResultRow, { experiment }: ResultSources): string {
  return experiment === null ? row.trial_id : `${experiment}-${row.name}`;
}

/** Versions of what computes, by the locks of the study's environments; Python is as it was probed. */
function environmentOf({ locks, recorded }: ResultSources): Record<string, string> {
  const texts = Object.entries(locks).filter(([name]) => name.includes("/default/"))
    .map(([, text]) => text).join("\n");
  const version = (name: string) =>
    // Of requirements.txt, or of what environment.json says of torch.
    new RegExp(`^(?:${name}==|  "${name}": ")([^\\s;\\\\"]+)`, "m").exec(texts)?.[1] ??
      "not recorded";
  return {
    ...recorded.machine,
    ...Object.fromEntries(
      ["torch", "transformers", "lm_eval"].map((name) => [name, version(name)]),
    ),
  };
}

function trialOf({ recorded }: ResultSources, row: ResultRow): RecordedTrial | undefined {
  return recorded.trials.find(({ trial_id }) => trial_id === row.trial_id);
}

/** Every figure of a benchmark on all samples, by metric. */
function metricsOf(trial: RecordedTrial | undefined, task: string): Record<string, number> {
  const rows =
    trial?.measurements.filter((one) =>
      one.task === task && one.slice === null && one.fidelity === FULL
    ) ?? [];
  return Object.fromEntries(rows.map(({ metric, value }) => [metric, value]));
}

/** Tokens, or the share of a prompt; null: all are kept. */
function budgetNumber({ budget }: ResultRow): number | null {
  if (budget === ENDLESS) return null;
  return budget.endsWith("%") ? Number(budget.slice(0, -1)) / 100 : Number(budget);
}

function summaryOf(sources: ResultSources, row: ResultRow, samples: readonly SampleResult[]) {
  const { view, table } = sources;
  const trial = trialOf(sources, row);
  const opened = view.trials.find(({ trial_id }) => trial_id === row.trial_id)!;
  const seconds = samples.flatMap((one) => one.seconds ?? []);
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const action = trial?.actions.at(-1);
  return {
    method: row.method,
    model: view.request.model_name,
    budget: budgetNumber(row),
    timestamp: opened.started_at,
    hyperparameters: action?.params ?? {},
    results: Object.fromEntries(table.tasks.map(({ task }) => [task, metricsOf(trial, task)])),
    runtime: {
      total_seconds: Number(total.toFixed(3)),
      per_sample_ms: seconds.length === 0
        ? null
        : Number((1000 * total / seconds.length).toFixed(3)),
    },
    context_kv_bytes: row.kv_bytes,
    experiment_id: experimentOf(row, sources),
    trial_id: row.trial_id,
    git_commit: trial?.provenance.code_commit ?? null,
    random_seed: view.request.seed,
    environment: environmentOf(sources),
    command: trial?.provenance.command ?? null,
  };
}

/** What runs a cell again and compares it with what was recorded. */
function scriptOf(sources: ResultSources, row: ResultRow, folder: string): string {
  const commit = trialOf(sources, row)?.provenance.code_commit?.replace(/-dirty$/, "") ?? null;
  const up = "../".repeat(folder.split("/").length);
  return [
    "#!/bin/sh",
    `# Runs ${experimentOf(row, sources)} again and says what differs:`,
    "#   cd <a clone of pare>; sh <this file> [--model DIR] [--dataset FILE]",
    "set -eu",
    'here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)',
    ...(commit === null ? [] : [`git checkout ${commit}`]),
    `exec sh "$here/${up}reproduce.sh" ${row.name} "$@"`,
    "",
  ].join("\n");
}

function cellFiles(sources: ResultSources, row: ResultRow): Record<string, string> {
  const folder = folderOf(row, sources.table);
  const samples = sources.samples.get(row.trial_id) ?? [];
  const trial = trialOf(sources, row);
  const experiment = safe(experimentOf(row, sources)).toLowerCase();
  const tasks = sources.table.tasks.flatMap(({ task }) => {
    const own = samples.filter((one) => one.task === task);
    return [
      [`${folder}/${safe(task)}/predictions.json`, json(own.map(predictionOf))],
      [`${folder}/${safe(task)}/metrics.json`, json(metricsOf(trial, task))],
    ];
  });
  return {
    ...Object.fromEntries(tasks),
    [`${folder}/summary.json`]: json(summaryOf(sources, row, samples)),
    [`${folder}/reproduce_${experiment}.sh`]: scriptOf(sources, row, `results/${folder}`),
  };
}

function predictionOf(
  { sample_id, sample_hash, answer, gold, score, seconds, ...more }: SampleResult,
) {
  return {
    ...{ sample_id, sample_hash, answer, gold, score, seconds: seconds ?? null },
    context_tokens: more.context_tokens ?? null,
    kept_tokens: more.kept_tokens ?? null,
  };
}

/** What the best of several looks like on the samples that chose it. */
const CHOSEN_BY_THEM =
  " It is the method of the trial that these very samples recommend, which flatters " +
  "it: a method that is named beforehand (--ours) is judged without that.";

/** Every file of the results by its place: tables, the tree of cells, and what each role reads. */
export function resultFiles(sources: ResultSources): Record<string, string> {
  const { view, table, samples } = sources;
  const recommended = table.rows.find(({ trial_id }) => trial_id === view.recommended);
  const ours = sources.ours ?? recommended?.method ?? null;
  const compared = ours === null ? [] : comparedRows(table, ours, samples, view.request.seed);
  const chosen = sources.ours === null ? CHOSEN_BY_THEM : "";
  const verdict = ours === null ? null : verdictOn(ours, table, compared) + chosen;
  const cells = table.rows.map((row) => cellFiles(sources, row));
  return {
    "RESULTS.md": resultsMarkdown(table) + (verdict === null ? "" : `- ${verdict}\n`),
    ...Object.assign({}, ...cells),
    "paper/results.tex": resultsLatex(table, compared, verdict),
    "paper/significance.json": json({ ours, verdict, compared }),
    "paper/hyperparameters.json": json(
      recommended === undefined ? null : summaryOf(sources, recommended, []).hyperparameters,
    ),
    "analyst/samples.csv": samplesCsv(table, samples),
    "manager/STATUS.md": managerPage(view, table),
  };
}
