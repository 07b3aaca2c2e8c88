import { basename, resolve } from "node:path";
import type { ImportedParam, KnobValue } from "../../../core/mod.ts";
import type { ForeignRun } from "./import_runs.ts";
import { findResults, type LmEvalResults, type ResultsFile } from "./lm_eval_files.ts";
import { readTaskSamples } from "./lm_eval_samples.ts";
import { shortHash, studyId } from "./study_id.ts";

/** Settings of lm-eval that belong to a run's result. */
const SETTINGS = ["batch_size", "limit", "gen_kwargs", "random_seed", "fewshot_seed", "device"];
/** What a results file says beside its figures, in a line each. */
const TAGS = [
  "lm_eval_version",
  "transformers_version",
  "git_hash",
  "model_source",
  "system_instruction_sha",
  "chat_template_sha",
];

function knobValue(value: unknown): KnobValue | null {
  if (value === null || value === undefined) return null;
  const plain = ["string", "number", "boolean"].includes(typeof value);
  return plain ? value as KnobValue : JSON.stringify(value);
}

/** `model_args` as names and values: an object, or as early versions wrote it `a=1,b=2`. */
function modelArgs(args: unknown): [string, unknown][] {
  if (typeof args === "object" && args !== null) return Object.entries(args).sort();
  if (typeof args !== "string" || args === "") return [];
  return args.split(",").map((one): [string, unknown] => {
    const [name = "", ...value] = one.split("=");
    return [name, value.join("=")];
  }).sort();
}

function paramsOf({ config }: LmEvalResults): ImportedParam[] {
  const settings = SETTINGS.flatMap((name): [string, unknown][] =>
    config[name] === undefined ? [] : [[name, config[name]]]
  );
  return [...modelArgs(config["model_args"]), ...settings].map(([param, value]) => ({
    param,
    value: knobValue(value),
    distribution: null,
  }));
}

/** The figures of a task: every `metric,filter` with a number, beside its standard error. */
function figuresOf(content: LmEvalResults, task: string): ForeignRun["measurements"] {
  const fields = content.results[task] ?? {};
  const count = content["n-samples"][task]?.effective ?? fields["sample_len"];
  const version = content.versions[task] ?? null;
  return Object.entries(fields).flatMap(([field, value]) => {
    const [metric = "", filter = "none"] = field.split(",");
    if (typeof value !== "number" || !field.includes(",") || metric.endsWith("_stderr")) return [];
    const higher = content.higher_is_better[task]?.[metric] ?? null;
    const error = fields[`${metric}_stderr,${filter}`];
    return [{
      metric,
      value,
      unit: null,
      direction: higher === null ? null : higher ? "maximize" as const : "minimize" as const,
      n: typeof count === "number" ? count : null,
      standard_error: typeof error === "number" ? error : null,
      task,
      task_version: version === null ? null : String(version),
      slice: filter === "none" ? null : filter,
      few_shot: content["n-shot"][task] ?? null,
      objective: null,
    }];
  });
}

/** What is evaluated alike: how many worked examples each task had. */
function shotsOf({ content }: ResultsFile): Map<string, number | null> {
  return new Map(
    Object.keys(content.results).map((task) => [task, content["n-shot"][task] ?? null]),
  );
}

/**
 * Files of one model in runs, oldest first: those in which a task has other worked examples than
 * before are another run, as neither figure replaces the other.
 */
function alike(files: readonly ResultsFile[]): ResultsFile[][] {
  const runs: { shots: Map<string, number | null>; files: ResultsFile[] }[] = [];
  for (const file of files) {
    const shots = shotsOf(file);
    const fits = runs.find((run) =>
      [...shots].every(([task, count]) => !run.shots.has(task) || run.shots.get(task) === count)
    );
    if (fits === undefined) runs.push({ shots, files: [file] });
    else {
      fits.files.push(file);
      for (const [task, count] of shots) fits.shots.set(task, count);
    }
  }
  return runs.map((run) => run.files);
}

/** What tells a run from others of its model: a limit on the samples, or its worked examples. */
function distinction(files: readonly ResultsFile[], others: boolean): string {
  const limit = files[0]!.content.config["limit"] ?? null;
  const shots = new Set(files.flatMap((file) => [...shotsOf(file).values()]));
  const words = [
    ...(limit === null ? [] : [`limit ${limit}`]),
    ...(others ? [`${[...shots].map((count) => count ?? "unknown").join(", ")} shots`] : []),
  ];
  return words.join(", ");
}

/** Each task's newest file: a task that was evaluated again replaces what it said before. */
function newestByTask(files: readonly ResultsFile[]): Map<string, ResultsFile> {
  return new Map(
    files.flatMap((file) => Object.keys(file.content.results).map((task) => [task, file] as const)),
  );
}

function secondsOf({ date, total_evaluation_time_seconds: took }: LmEvalResults): number | null {
  return date === null || took === null ? null : date + took;
}

/** Null as well: a moment beyond all calendars. */
function isoTime(seconds: number | null): string | null {
  const at = new Date((seconds ?? NaN) * 1000);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** One model's run, from all its files, oldest first. */
function runOf(
  files: readonly ResultsFile[],
  study: { study_id: string; study_name: string },
  apart: string,
): ForeignRun {
  const [oldest, newest] = [files[0]!, files.at(-1)!];
  const tasks = newestByTask(files);
  const samples = [...tasks].map(([task, file]) => readTaskSamples(file, task));
  const { content } = newest;
  const args = JSON.stringify(modelArgs(content.config["model_args"]));
  const identity = [newest.model, args, ...(apart === "" ? [] : [apart])];
  return {
    ...study,
    source_id: shortHash([...identity, oldest.content.date ?? oldest.date_id].join("\n"), 12),
    number: null,
    name: apart === "" ? newest.model : `${newest.model} (${apart})`,
    parent_id: null,
    state: "completed",
    failure_message: null,
    started_at: isoTime(oldest.content.date),
    finished_at: isoTime(secondsOf(content)),
    params: paramsOf(content),
    measurements: [...tasks].flatMap(([task, file]) => figuresOf(file.content, task)),
    series: [],
    tags: Object.fromEntries(TAGS.flatMap((tag) => {
      const value = content[tag];
      return value === null || value === undefined ? [] : [[tag, String(value)]];
    })),
    samples: samples.flat(),
  };
}

/**
 * The runs of an lm-eval results folder: one a model and its arguments, with all their tasks; evaluations
 * with a limit, or of one task with other worked examples, are runs of their own.
 */
export async function* lmEvalRuns(directory: string): AsyncGenerator<ForeignRun> {
  const files = await findResults(directory);
  const study_name = basename(resolve(directory));
  const first = files.map(({ content, date_id }) => String(content.date ?? date_id)).sort()[0];
  const study = { study_name, study_id: studyId("lm-eval", study_name, `${study_name}\n${first}`) };
  const models = Map.groupBy(
    files,
    ({ model, content: { config } }) =>
      JSON.stringify([model, modelArgs(config["model_args"]), config["limit"] ?? null]),
  );
  for (const group of models.values()) {
    const runs = alike(group);
    // The first keeps the name that it had before there was another.
    for (const [at, files] of runs.entries()) {
      yield runOf(files, study, distinction(files, at > 0));
    }
  }
}
