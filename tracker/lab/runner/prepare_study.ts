import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Agent,
  askedWindows,
  type Assumption,
  callOptions,
  type CallResult,
  chooseSamples,
  type ChosenSamples,
  type DataKind,
  type Facts,
  kindOf,
  type RunRequest,
  type SamplePool,
  samplesAt,
  samplingByTask,
  setWorkers,
  type Spec,
  type Task,
  type TaskSampling,
  UsageError,
  type WireTask,
  withoutTasks,
} from "../../../core/mod.ts";
import { BrokenTasks, preparedData } from "../data/prepared_data.ts";
import type { PreparedRung, PreparedStudy } from "./prepared_study.ts";
import { packageSource } from "./source_closure.ts";
import type { CallRunner } from "./call_runner.ts";
import {
  preparedWindows,
  USUAL_WINDOWS,
  windowAssumptions,
  windowCounts,
  windowSources,
} from "./study_windows.ts";
import { ownRows, wireTasks, withoutData } from "./task_data.ts";
import type { Workshop } from "./workshop.ts";

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Of each task's data; what the hub holds may change, so that its rows are read for every study. */
async function dataStamp(tasks: readonly WireTask[], study_id: string): Promise<string[]> {
  return await Promise.all(
    tasks.map(async ({ data_path, tokenizer_dir }) => {
      if (data_path !== null) return sha256(await readFile(data_path));
      return tokenizer_dir === undefined ? `hub, ${study_id}` : "made";
    }),
  );
}

/** Of the files that windows are taken from: a user may change his text between two studies. */
async function fileStamps(paths: readonly (string | null)[]): Promise<(string | null)[]> {
  return await Promise.all(
    paths.map(async (path) => path === null ? null : sha256(await readFile(path))),
  );
}

interface StudyToPrepare {
  readonly study_id: string;
  readonly request: RunRequest;
  readonly spec: Spec;
  readonly facts: Facts;
  /** What it began with, where something of it is measured already. */
  readonly begun: Facts | null;
}

/**
 * Chooses samples; their order and the windows of text are made once for the same inputs. A
 * benchmark whose data are broken is left out of the spec that comes back, with its reason; where
 * no other is left to compare by, the study is refused.
 */
export async function prepareStudy(
  workshop: Workshop,
  runner: CallRunner,
  study: StudyToPrepare,
): Promise<PreparedStudy> {
  if (!kindOf(study.request).needs.model) return nothingAsked(study);
  const tasks = tasksOf(study.spec, workshop.registry.tasks);
  if (study.begun !== null) {
    refuseOtherData(study, study.begun);
    refuseChanged(study, tasks, workshop.registry.agents);
  }
  const gone = withoutData(tasks, study.request);
  const spec = gone.length === 0 ? study.spec : without(study, gone);
  try {
    return await prepareTasks(workshop, runner, { ...study, spec });
  } catch (error) {
    if (!(error instanceof BrokenTasks)) throw error;
    const left = without({ ...study, spec }, error.refused);
    return await prepareTasks(workshop, runner, { ...study, spec: left });
  }
}

/** Of a run whose members are runs of their own: it asks nothing itself. */
function nothingAsked({ study_id, request, spec, facts: { model, device } }: StudyToPrepare) {
  const windows = { calibration: null, training: null };
  return {
    ...{ study_id, model, spec, windows, counts: windowCounts(windows), tasks: [], rungs: [] },
    ...howPrepared(request, device),
  };
}

/** What calls are told of request and machine. */
function howPrepared(request: RunRequest, device: Facts["device"]) {
  const kind = kindOf(request);
  return {
    seed: request.seed,
    device: device.device,
    cpu_power: device.cpu_power ?? null,
    carbon_intensity: device.carbon_intensity ?? null,
    options: callOptions(request),
    asks: kind.asks(request),
    needs: kind.needs,
    workers: setWorkers(request),
  };
}

function tasksOf(spec: Spec, all: readonly Task[]): Task[] {
  return spec.tasks.flatMap(({ task }) => all.find(({ name }) => name === task) ?? []);
}

/** The spec without benchmarks; a study that has begun measures what its baseline did, or nothing. */
function without(study: StudyToPrepare, refused: Spec["missing_tasks"]): Spec {
  if (study.begun === null) return withoutTasks(study.spec, refused);
  const reasons = refused.map(({ reason }) => reason).join("; ");
  throw new UsageError(`Cannot go on with ${study.study_id}: ${reasons}`);
}

/** Refuses to go on with other rows in the user's file. */
function refuseOtherData({ study_id, facts }: StudyToPrepare, begun: Facts): void {
  if (facts.dataset.sha256 === begun.dataset.sha256) return;
  throw new UsageError(
    `Cannot go on with ${study_id} as ${facts.dataset.dataset} has changed since it began: its ` +
      `figures could not be compared; put it back, or begin a new study`,
  );
}

/** Refuses to go on where a benchmark is another one than the study began with, or is gone. */
function refuseChanged(
  { study_id, spec }: StudyToPrepare,
  tasks: readonly Task[],
  agents: readonly Agent[],
): void {
  for (const { task, task_version } of spec.tasks) {
    const now = tasks.find(({ name }) => name === task);
    if (now?.version === task_version) continue;
    const start = `Cannot go on with ${study_id} as`;
    if (now === undefined) {
      const sets = agents.flatMap((agent) => agent.benchmark_sets ?? []);
      const reasons = sets.filter((set) => set.dataset_class === "custom")
        .flatMap((set) => Object.values(set.reasons ?? {}));
      throw new UsageError([`${start} its benchmark ${task} is gone`, ...reasons].join(": "));
    }
    const what = now.origin === "file" ? `the task file ${now.datasets[0]}` : `the task ${task}`;
    throw new UsageError(
      `${start} ${what} has changed since it began (version ${task_version}, now ` +
        `${now.version}): its figures could not be compared; put it back, or begin a new study`,
    );
  }
}

async function prepareTasks(
  workshop: Workshop,
  runner: CallRunner,
  study: StudyToPrepare,
): Promise<PreparedStudy> {
  const { request, spec, facts: { model, device } } = study;
  const kind = kindOf(request);
  const { endpoint } = kind.asks(request);
  const sources = windowSources(request, model);
  const model_dir = endpoint === undefined ? model.path : endpoint.tokenizer_dir;
  const tasks = wireTasks(spec, workshop.registry, request, model_dir);
  const asked = askedWindows(
    request,
    kind.actions(request),
    workshop.registry.methods,
    USUAL_WINDOWS,
  );
  const windows = takesText(workshop, request, "calibration") ? asked.calibration.windows : 0;
  const tokens = {
    calibration: Math.min(asked.calibration.tokens, model.context_length),
    training: Math.min(asked.training.tokens, model.context_length),
  };
  const training = takesText(workshop, request, "training")
    ? { path: sources.training, windows: asked.training.windows, tokens: tokens.training }
    : null;
  const sample_seed = request.sampling?.seed ?? request.seed;
  const ownSampling = samplingByTask(request.sampling, workshop.registry.tasks);
  const sample_seeds = Object.fromEntries(
    [...ownSampling].flatMap(([task, { seed }]) => seed === undefined ? [] : [[task, seed]]),
  );
  const key = sha256(JSON.stringify([
    model_dir,
    tasks,
    await dataStamp(tasks, study.study_id),
    sources.calibration,
    { windows, tokens: asked.calibration.tokens },
    training,
    await fileStamps(Object.values(sources)),
    request.seed,
    sample_seed,
    sample_seeds,
    await packageSource("evaluation", "text", "calls/prepare_data.py"),
  ]));
  const { prepared, folder } = await preparedData(workshop.caches, runner, key, {
    call: "prepare_data",
    model_dir,
    tasks,
    calibration_path: sources.calibration,
    calibration_windows: windows,
    calibration_tokens: tokens.calibration,
    seed: request.seed,
    sample_seed,
    sample_seeds,
    training,
    // A study that has begun goes on as it began, whatever its rows lost.
    ...(study.begun === null ? { own_rows: ownRows(spec, workshop.registry.tasks) } : {}),
  }, study.begun === null);
  const made = preparedWindows(prepared, folder, tokens, sources);
  const chosen = chooseSamples(poolsOf(spec, prepared, ownSampling), request.sampling);
  return {
    study_id: study.study_id,
    model,
    spec: withFound(spec, prepared, windowAssumptions(made, asked)),
    windows: made,
    counts: windowCounts(made),
    tasks: withMadeRows(tasks, prepared, folder),
    rungs: rungsOf(spec, chosen),
    ...howPrepared(request, device),
  };
}

/** The tasks as they are asked: rows that were made for the model lie in the folder. */
function withMadeRows(
  tasks: readonly WireTask[],
  prepared: CallResult<"prepare_data">,
  folder: string,
): WireTask[] {
  return tasks.map(({ tokenizer_dir: _made, ...task }) => {
    const made = prepared.tasks.find((one) => one.task === task.task)?.rows_file;
    if (made === undefined || made === null) return task;
    return { ...task, data_path: join(folder, made) };
  });
}

/** Whether a method that the study may use works on text of this kind: else none is drawn. */
function takesText({ registry }: Workshop, request: RunRequest, kind: DataKind): boolean {
  const { methods, strategies } = request;
  const named = strategies.flatMap(({ actions }) => actions.map(({ method }) => method));
  return kindOf(request).needs.methods &&
    registry.methods.some(({ method: { name, needs } }) =>
      needs.data === kind &&
      (methods === undefined || methods.includes(name) || named.includes(name))
    );
}

/** The spec with what the data hold: samples of each task, and windows of text. */
function withFound(
  spec: Spec,
  prepared: CallResult<"prepare_data">,
  assumed: readonly Assumption[],
): Spec {
  const rows = new Map(prepared.tasks.map(({ task, rows }) => [task, rows]));
  const tasks = spec.tasks.map((plan) => {
    const available_samples = rows.get(plan.task);
    return available_samples === undefined ? plan : { ...plan, available_samples };
  });
  return { ...spec, tasks, assumptions: [...spec.assumptions, ...assumed] };
}

/** How its samples count: a study of an earlier version goes on counting them alike. */
function weighingOf(spec: Spec, task: string): { weigh_strata?: true } {
  const plan = spec.tasks.find((one) => one.task === task);
  return plan?.strata === "by_rows" ? { weigh_strata: true } : {};
}

/** The samples of each rung, of the tasks that it asks. */
function rungsOf(spec: Spec, chosen: readonly ChosenSamples[]): PreparedRung[] {
  return spec.rungs.map(({ fidelity }, height) => ({
    fidelity,
    selections: chosen.flatMap(({ task, rungs }) => {
      if (samplesAt(spec, fidelity, task) === undefined) return [];
      const rows = [...rungs[height]!]; // as many as the spec has rungs
      return [{ task, rows, ...weighingOf(spec, task) }];
    }),
  }));
}

/** What the samples are chosen from, in the spec's order. */
function poolsOf(
  spec: Spec,
  prepared: CallResult<"prepare_data">,
  own: ReadonlyMap<string, TaskSampling>,
): SamplePool[] {
  return spec.tasks.map(({ task }) => {
    const read = prepared.tasks.find((one) => one.task === task);
    if (read === undefined) {
      throw new UsageError(`Cannot choose samples of ${task}: none were read`);
    }
    const sampling = own.get(task);
    const { order, groups } = read;
    const counts = spec.rungs.map(({ fidelity }) => {
      const count = samplesAt(spec, fidelity, task);
      return count === undefined ? 0 : count;
    });
    return { task, order, groups, counts, ...(sampling === undefined ? {} : { sampling }) };
  });
}
