import { foundAt } from "../ground/storage/found_at.ts";
import { realpathSync } from "node:fs";
import {
  askedFront,
  checkContextRead,
  checkDistances,
  checkParams,
  chooseTasks,
  clashOf,
  classifyDataset,
  type DatasetFacts,
  findTarget,
  gatesInForce,
  kindOf,
  planTasks,
  type Registry,
  type RunRequest,
  unknownName,
  UsageError,
  usersWeights,
} from "../../core/mod.ts";

import { withoutData } from "./runner/task_data.ts";
import { studySamplers } from "./search/study_samplers.ts";

function known(kind: string, name: string, names: readonly string[]): void {
  if (!names.includes(name)) throw new UsageError(unknownName(kind, name, names));
}

/** Refuses a text to calibrate or train on that is none, or is the file that the study evaluates. */
function checkOwnText(
  attempt: string,
  path: string | undefined,
  option: string,
  dataset: DatasetFacts,
): void {
  if (path === undefined) return;
  const start = `Cannot ${attempt} on ${path} as`;
  if (foundAt(path)?.isFile() !== true) {
    throw new UsageError(`${start} there is no such file: give a .jsonl of {"text"} a line`);
  }
  if (realpathSync(path) !== dataset.path) return;
  throw new UsageError(
    `${start} it is the dataset that the study evaluates: give other samples with ${option}`,
  );
}

/** Refuses workers of a run that has one thing to do at a time. */
export function checkWorkers(request: RunRequest): void {
  const { needs, does } = kindOf(request);
  if (request.workers === undefined || request.workers === 1 || needs.side_by_side) return;
  throw new UsageError(
    `Cannot run ${request.workers} workers as a study that ${does} does one thing after another: ` +
      "leave workers out",
  );
}

/**
 * Refuses what can be known to be wrong before an environment is made or a model is read: names of
 * the dataset, benchmarks with settings of their own, gates, methods, knobs, runtime, sampler and target,
 * weights that weigh nothing, and data files that are not there where no other benchmark is left.
 * `reads`: tokens that the model does, where that is known.
 */
export function checkRequest(
  request: RunRequest,
  dataset: DatasetFacts,
  registry: Registry,
  reads: number | undefined,
): void {
  checkWorkers(request);
  checkContextRead(request, reads);
  const sets = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const classified = classifyDataset(dataset, sets);
  const choice = chooseTasks(dataset, classified, registry.tasks, sets);
  const planned = planTasks(choice, request);
  checkOwnText("calibrate", request.calibration_data, "--calibration-data", dataset);
  checkOwnText("train", request.training_data, "--training-data", dataset);
  const methods = registry.methods.map(({ method }) => method.name);
  for (const name of request.methods ?? []) known("method", name, methods);
  if (request.runtime !== undefined) registry.runtime(request.runtime);
  studySamplers(request, registry);
  if (request.target !== undefined) findTarget(request.target);
  askedFront(request.front);
  const gates = gatesInForce(request).map(({ metric }) => metric);
  checkDistances("set a gate on", gates, choice.tasks, request.samples);
  if (request.objectives !== undefined) usersWeights(request.objectives);
  const recipes = [...request.strategies, ...(request.rules ?? []).flatMap((one) => one.recipes)];
  const actions = [
    ...recipes.flatMap((recipe) => recipe.actions),
    ...kindOf(request).actions(request, registry.methods, reads).map(({ action }) => action),
  ];
  for (const action of actions) {
    const { method } = registry.method(action.agent, action.method);
    checkParams(method, action.params);
    const clash = clashOf(method, action.params, reads);
    if (clash !== null) throw new UsageError(`Cannot use ${method.name} as ${clash}`);
  }
  const gone = withoutData(choice.tasks, request);
  const left = planned.filter(({ task }) => !gone.some((one) => one.task === task));
  if (!left.some(({ primary }) => primary)) {
    throw new UsageError(gone.map(({ reason }) => reason).join("; "));
  }
}
