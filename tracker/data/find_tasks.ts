import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  claimsDataset,
  datasetNames,
  type FoundData,
  type FoundTask,
  foundTask,
  type Registry,
  type StageResult,
  type StudyRequest,
  type Task,
  unknownName,
  UsageError,
  withTasks,
} from "../../core/mod.ts";
import type { StageRunner } from "../runner/stage_runner.ts";
import { isDatasetFile, isTaskFile } from "./inspect_dataset.ts";

/** Says that a name is lm-eval's, whatever this project calls so. */
const PREFIX = "lm_eval:";

type Found = StageResult<"find_tasks">["found"][number];

/** The names of a dataset that neither a plugin nor a benchmark set knows. */
function unknownNames(request: StudyRequest, registry: Registry): string[] {
  if (isDatasetFile(request.dataset)) return [];
  const sets = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  return datasetNames(request.dataset).filter((name) =>
    isTaskFile(name) || name.startsWith(PREFIX) || !claimsDataset(name, registry.tasks, sets)
  );
}

/**
 * The registry with the benchmarks that a study names and no plugin is: task files, tasks of
 * lm-eval, and its groups as their tasks. `runner` is asked only where there is such a name.
 */
export async function withFoundTasks(
  request: StudyRequest,
  registry: Registry,
  runner: () => StageRunner,
): Promise<Registry> {
  const names = unknownNames(request, registry);
  if (names.length === 0) return registry;
  const outcome = await runner()("setup", {
    stage: "find_tasks",
    tasks: names.map((asked) =>
      isTaskFile(asked)
        ? { asked, kind: "file", target: resolve(asked) }
        : { asked, kind: "name", target: asked.replace(PREFIX, "") }
    ),
    trust_task_code: request.trust_task_code ?? false,
  }, "default");
  if (!outcome.ok) {
    const { message, hint } = outcome.failure;
    throw new UsageError(hint === null ? message : `${message}. ${hint}`);
  }
  const { found } = outcome.value;
  for (const one of found) refuseUnknown(one, registry.tasks);
  const tasks = found.flatMap((one) =>
    one.tasks.map((task) =>
      foundTask(task, one.asked, registry.tasks, localData(task, request.data_dir))
    )
  );
  return withTasks(registry, onlyOnce(tasks));
}

/** Whether a name is surely another one misspelled. */
function isNear(name: string, other: string): boolean {
  return unknownName("", name, [other]).includes("Did you mean");
}

/**
 * A name that lm-eval does not know either: refused where it says that it is lm-eval's, or is one
 * of lm-eval's misspelled. All else is the core's to judge, which knows this project's names.
 */
function refuseUnknown({ asked, tasks, near }: Found, own: readonly Task[]): void {
  const name = asked.replace(PREFIX, "");
  const meant = near.filter((other) => isNear(name, other));
  const known = own.flatMap((task) => [task.name, ...task.datasets]);
  const mine = asked === name && (meant.length === 0 || known.some((one) => isNear(name, one)));
  if (tasks.length > 0 || mine) return;
  const hint = [...meant, ...near.filter((other) => !meant.includes(other))]
    .map((other) => `"${other}"`).join(" or ");
  const kind = asked === name ? "dataset" : "task of lm-eval";
  const whose = asked === name ? " (of lm-eval)" : "";
  throw new UsageError(
    `Unknown ${kind} "${name}".${hint === "" ? "" : ` Did you mean ${hint}?${whose}`}`,
  );
}

/** A task that two names ask for, such as a group and a task of it, is taken once, for both. */
function onlyOnce(tasks: readonly Task[]): Task[] {
  const byName = new Map<string, Task>();
  for (const task of tasks) {
    const first = byName.get(task.name);
    if (
      first !== undefined && first.origin !== task.origin || first?.version !== undefined &&
        first.version !== task.version
    ) {
      throw new UsageError(
        `Cannot take both ${first?.datasets[0]} and ${task.datasets[0]}: each defines a task ` +
          `"${task.name}"`,
      );
    }
    const datasets = [...first?.datasets ?? [], ...task.datasets];
    byName.set(task.name, { ...task, datasets });
  }
  return [...byName.values()];
}

/** The rows of a task file, or those of `--data-dir` where it has a folder of the task's name. */
function localData(found: FoundTask, data_dir: string | undefined): FoundData | null {
  if (found.data_path !== null) {
    return { rows: pathToFileURL(found.data_path).href, examples: null };
  }
  if (data_dir === undefined || found.data_file === null) return null;
  const folder = resolve(data_dir, dirname(found.data_file));
  if (!existsSync(folder)) return null;
  const rows = inFolder(folder, basename(found.data_file), found.name);
  const examples = found.few_shot === 0 || found.example_file === null
    ? null
    : inFolder(folder, found.example_file, found.name);
  return { rows: pathToFileURL(rows).href, examples };
}

/** A file of the folder, zipped or not. */
function inFolder(folder: string, file: string, task: string): string {
  const names = [file, file.replace(/\.gz$/, "")];
  const name = names.find((one) => existsSync(join(folder, one)));
  if (name !== undefined) return join(folder, name);
  throw new UsageError(
    `Cannot read the data of ${task}: ${folder} must hold ${names.join(" or ")}, and has neither`,
  );
}
