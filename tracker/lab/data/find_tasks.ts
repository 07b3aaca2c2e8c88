import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  atLengths,
  type CallResult,
  claimsDataset,
  type DatasetFacts,
  datasetNames,
  type FoundData,
  type FoundTask,
  foundTask,
  isTaskFile,
  type Registry,
  type RunRequest,
  type Task,
  unknownName,
  UsageError,
  withTasks,
} from "../../../core/mod.ts";
import { type CallRunner, refusal } from "../runner/call_runner.ts";
import type { ReadDataset } from "./inspect_dataset.ts";

/** Says that a name is lm-eval's, whatever this project calls so. */
const PREFIX = "lm_eval:";

type Found = CallResult<"find_tasks">["found"][number];

/** The names of a dataset that neither a plugin nor a benchmark set knows, and that are no file of rows. */
function unknownNames({ facts, files }: ReadDataset, registry: Registry): string[] {
  if (facts.kind === "file") return [];
  const sets = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  return datasetNames(facts.dataset).filter((name) =>
    !files.has(name) &&
    (isTaskFile(name) || name.startsWith(PREFIX) || !claimsDataset(name, registry.tasks, sets))
  );
}

/**
 * The registry with the benchmarks that a study names and no plugin is: task files, files of rows
 * that stand in a list, tasks of lm-eval, and its groups as their tasks. `runner` is asked only
 * where lm-eval has to be. One of a list that is broken is left out with its reason.
 */
export async function withFoundTasks(
  { data_dir, trust_task_code }: Pick<RunRequest, "data_dir" | "trust_task_code">,
  dataset: ReadDataset,
  registry: Registry,
  runner: CallRunner,
): Promise<Registry> {
  const names = unknownNames(dataset, registry);
  if (names.length + dataset.files.size === 0) return registry;
  const broken = new Map<string, string>();
  const sets = registry.agents.flatMap((agent) => agent.benchmark_sets ?? []);
  const made = new Map(names.map((name) => [name, atLengths(name, registry.tasks, sets)]));
  const tasks = [...made.values()].flatMap((own) => own ?? []);
  for (const [asked, file] of dataset.files) {
    const task = file instanceof UsageError ? file : fileOfRows(asked, file, registry.tasks);
    if (task instanceof UsageError) broken.set(asked, task.message);
    else tasks.push(task);
  }
  const others = names.filter((name) => made.get(name) === null);
  for (const one of others.length === 0 ? [] : await find(others, trust_task_code, runner)) {
    if (one.reason !== null) broken.set(one.asked, one.reason);
    else refuseUnknown(one, registry.tasks);
    tasks.push(
      ...one.tasks.map((task) =>
        foundTask(task, one.asked, registry.tasks, localData(task, data_dir))
      ),
    );
  }
  if (datasetNames(dataset.facts.dataset).every((name) => broken.has(name))) {
    throw new UsageError([...broken.values()].join("; "));
  }
  return withTasks(registry, onlyOnce(tasks), broken);
}

async function find(
  names: readonly string[],
  trust_task_code = false,
  runner: CallRunner,
): Promise<Found[]> {
  const outcome = await runner("setup", {
    call: "find_tasks",
    tasks: names.map((asked) =>
      isTaskFile(asked)
        ? { asked, kind: "file", target: resolve(asked) }
        : { asked, kind: "name", target: asked.replace(PREFIX, "") }
    ),
    trust_task_code,
  }, "default");
  if (outcome.ok) return outcome.value.found;
  throw refusal(outcome.failure);
}

/** A .jsonl file of a list as the task for such files, under the file's name; else why it is none. */
function fileOfRows(
  asked: string,
  { format, path }: DatasetFacts,
  known: readonly Task[],
): Task | UsageError {
  const plugin = known.find(({ datasets }) => datasets.includes(`custom_${format}`));
  if (plugin === undefined || path === null) {
    return new UsageError(`Cannot evaluate on ${asked} as no task takes ${format} lines`);
  }
  const file = basename(path);
  const stem = file.replace(/\.jsonl(\.gz)?$/i, "");
  return {
    ...plugin,
    name: known.some(({ name }) => name === stem) ? file : stem,
    data_file: pathToFileURL(path).href,
    shipped: true,
    datasets: [asked],
  };
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
    const same = (["origin", "version", "data_file"] as const).every((key) =>
      first?.[key] === task[key]
    );
    if (first !== undefined && !same) {
      throw new UsageError(
        `Cannot take both ${first?.datasets[0]} and ${task.datasets[0]}: each defines a task ` +
          `"${task.name}"`,
      );
    }
    const datasets = [...first?.datasets ?? [], ...task.datasets];
    const member_of = [...first?.member_of ?? [], ...task.member_of ?? []];
    byName.set(task.name, {
      ...task,
      datasets,
      ...(member_of.length === 0 ? {} : { member_of }),
    });
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
  const rows = inFolder(folder, basename(found.data_file));
  const examples = found.few_shot === 0 || found.example_file === null
    ? null
    : inFolder(folder, found.example_file);
  return { rows: pathToFileURL(rows).href, examples };
}

/** A file of the folder, zipped or not; where neither is there, who reads it says so. */
function inFolder(folder: string, file: string): string {
  const names = [file, file.replace(/\.gz$/, "")];
  return join(folder, names.find((one) => existsSync(join(folder, one))) ?? file);
}
