import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JournalRecord, ResolvedAction, Trial, WireTask } from "../../core/mod.ts";
import { openArtifactStore } from "../../tracker/artifacts/artifact_store.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { BATCH_SIZE } from "../../tracker/lab/runner/evaluate_artifact.ts";
import { PROTOCOL } from "../../tracker/lab/runner/measure_speed.ts";
import { USUAL_WINDOWS } from "../../tracker/lab/runner/study_windows.ts";
import { readSamples } from "../../tracker/store/rows/sample_file.ts";
import { architectureOf, formLabel } from "../../tracker/lab/runner/forms/form_key.ts";
import { wireTasks } from "../../tracker/lab/runner/task_data.ts";
import { METHODS } from "./bare_methods.ts";
import type { MeasuredStudy } from "./measured_study.ts";
import { stagesOf } from "./span_account.ts";

/** Rows of each task. */
export type Rows = Record<string, number[]>;

/** One trial as the bare script repeats it. */
export interface BareTrial {
  readonly trial_id: string;
  readonly actions: readonly Pick<ResolvedAction, "method" | "params">[];
  /** One evaluation after the other: the proxy's rows, then those of the full one. */
  readonly evaluations: readonly Rows[];
  readonly speed: boolean;
}

/** What bare_study.py reads. */
export interface BareRequest {
  readonly model_dir: string;
  /** The exported graph; null: speed is not timed in openvino. */
  readonly graph_dir: string | null;
  readonly calibration_text: string;
  readonly calibration_tokens: number;
  readonly threads: number;
  readonly batch_size: number;
  readonly prompt_tokens: number;
  readonly new_tokens: number;
  readonly least_passes: number;
  readonly seed: number;
  readonly tasks: readonly WireTask[];
  readonly trials: readonly BareTrial[];
}

/** What bare_study.py writes. */
export interface BareResult {
  readonly seconds: number;
  readonly phases: Record<string, number>;
  readonly trials: readonly {
    trial_id: string;
    scores: Record<string, number>[];
    latency_ms: number | null;
  }[];
}

/** Why the bare script cannot repeat a study, or null. */
export function bareRefusal(
  tasks: readonly WireTask[],
  trials: readonly BareTrial[],
): string | null {
  const task = tasks.find(({ definition, data_path }) =>
    definition === null || "include" in definition || !data_path?.endsWith(".jsonl")
  );
  if (task !== undefined) {
    return `the bare script cannot run ${task.task}: its data or template do not ship with pare`;
  }
  const method = trials.flatMap(({ actions }) => actions).find(({ method }) =>
    !METHODS.includes(method)
  )
    ?.method;
  return method === undefined
    ? null
    : `the bare script does not know the method ${method}: it knows ${METHODS.join(", ")}`;
}

/** How many of a trial's actions were carried out, by its spans, or found done by its artifacts. */
function actionsDone(trial: Trial, found: number): number {
  const written = stagesOf(trial.spans).filter(({ stage, spans }) =>
    stage === "apply" && spans.some(({ name }) => name === "write")
  );
  return Math.min(trial.actions.length, written.length + found);
}

/**
 * The work of each trial, as far as it came. An action whose artifact an earlier trial had made is
 * repeated: a script keeps none.
 */
export function bareTrials(
  trials: readonly Trial[],
  evaluations: ReadonlyMap<string, readonly Rows[]>,
  records: readonly JournalRecord[],
): BareTrial[] {
  return trials.flatMap((trial) => {
    const { trial_id, measurements } = trial;
    const found = records.filter((record) =>
      record.type === "artifact_written" && record.trial_id === trial_id && record.cached &&
      record.artifact.action !== null
    ).length;
    const actions = trial.actions.slice(0, actionsDone(trial, found))
      .map(({ method, params }) => ({ method, params }));
    const done = evaluations.get(trial_id) ?? [];
    if (actions.length === 0 && done.length === 0) {
      return [];
    }
    const speed = measurements.some(({ metric }) =>
      metric === "latency_ms"
    );
    return [{ trial_id, actions, evaluations: done, speed }];
  });
}

/** Rows that each evaluation of a study read, by trial, from its samples. */
async function evaluationsOf(
  records: readonly JournalRecord[],
  root: string,
): Promise<Map<string, Rows[]>> {
  const found = new Map<string, Rows[]>();
  for (const record of records) {
    if (record.type !== "samples_written") continue;
    const rows: Rows = {};
    for (const sample of await readSamples(join(root, record.path), record.sha256)) {
      (rows[sample.task] ??= []).push(Number(sample.sample_id));
    }
    found.set(record.trial_id, [...found.get(record.trial_id) ?? [], rows]);
  }
  return found;
}

/** Where the original's files lie: a journal says the id alone. Null where they are gone. */
async function originalDir({ home, view }: MeasuredStudy): Promise<string | null> {
  const baseline = [...view.artifacts.values()].find(({ parent_id }) => parent_id === null);
  if (baseline === undefined) return null;
  using artifacts = await openArtifactStore(home.artifacts);
  return (await artifacts.get(baseline.artifact_id))?.location ?? null;
}

/** The graph that was exported of the original; null where there is none. */
async function graphOf(study: MeasuredStudy, model_dir: string): Promise<string | null> {
  if (study.view.spec.runtime !== "openvino") return null;
  const folder = join(study.home.cache, "forms");
  const config = JSON.parse(await readFile(join(model_dir, "config.json"), "utf8"));
  const label = formLabel("openvino", architectureOf(config));
  const names = await readdir(folder).catch(() => []);
  const name = names.find((name) => name.startsWith(`${label}-`));
  return name === undefined ? null : join(folder, name);
}

/** How many artifacts a study took from an earlier one: their work is not in its time. */
export function artifactsOfOthers(records: readonly JournalRecord[]): number {
  const written = records.filter((record) => record.type === "artifact_written");
  const made = new Set(
    written.filter(({ cached }) => !cached).map(({ artifact }) => artifact.artifact_id),
  );
  return written.filter(({ cached, artifact }) =>
    cached && artifact.action !== null && !made.has(artifact.artifact_id)
  ).length;
}

/** The request that repeats a study in the bare script; a sentence where that is not possible. */
export async function bareRequest(study: MeasuredStudy): Promise<BareRequest | string> {
  const { view, records, store_root } = study;
  const registry = await discoverPlugins(view.request.plugins);
  const tasks = wireTasks(view.spec, registry, view.request, null);
  const trials = bareTrials(view.trials, await evaluationsOf(records, store_root), records);
  const refusal = bareRefusal(tasks, trials);
  if (refusal !== null) return refusal;
  const others = artifactsOfOthers(records);
  if (others > 0) return `${others} of the study's artifacts were made by an earlier study`;
  const model_dir = await originalDir(study);
  if (model_dir === null) return "the files of the study's original are gone";
  const graph_dir = await graphOf(study, model_dir);
  if (graph_dir === null) return "the study was not timed in openvino, or its graph is gone";
  return {
    model_dir,
    graph_dir,
    calibration_text: fileURLToPath(
      new URL("../../python-backends/pare_backends/text/calibration.jsonl", import.meta.url),
    ),
    calibration_tokens: Math.min(USUAL_WINDOWS.calibration.tokens, view.facts.model.context_length),
    threads: view.facts.device.cores,
    batch_size: BATCH_SIZE,
    ...PROTOCOL,
    seed: view.request.seed,
    tasks,
    trials,
  };
}
