import { foundAt } from "../../ground/storage/found_at.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  kindOf,
  lengthsOf,
  type Registry,
  type RunRequest,
  type Spec,
  type Task,
  UsageError,
  type WireTask,
  wireTask,
  withSettings,
} from "../../../core/mod.ts";
import { asJudged } from "../judging/judged_tasks.ts";

/** Whether a task's rows are a file that the user named. */
const isCustom = ({ datasets }: Task) => datasets.some((name) => name.startsWith("custom_"));

/** The tasks of a study whose rows are the user's own, by their names. */
export function ownRows(spec: Pick<Spec, "tasks">, tasks: readonly Task[]): string[] {
  const own = tasks.filter((task) => task.origin === "file" || isCustom(task));
  return spec.tasks.map(({ task }) => task).filter((name) => own.some((one) => one.name === name));
}

/** Where a task's data lie on this machine; null: lm-eval fetches or caches them itself. */
export function dataPath(task: Task, request: RunRequest): string | null {
  if (lengthsOf(task) !== null) return sourceOf(task, request);
  if (task.shipped) return task.data_file === null ? null : fileURLToPath(task.data_file);
  if (isCustom(task)) return resolve(request.dataset);
  if (request.data_dir === undefined || task.data_file === null) return null;
  // The folder of a benchmark that is no plugin was looked for when it was found.
  if ((task.origin ?? "plugin") !== "plugin") return null;
  const path = resolve(request.data_dir, task.data_file);
  const plain = path.replace(/\.gz$/, ""); // as a benchmark's authors may hand it out
  return existsSync(path) || !existsSync(plain) ? path : plain;
}

/** What a task's rows are made of, where the user has it: else of what ships, or its maker says why not. */
function sourceOf({ data_file }: Task, { data_dir }: RunRequest): string | null {
  const path = data_dir === undefined || data_file === null ? null : resolve(data_dir, data_file);
  return path !== null && existsSync(path) ? path : null;
}

/** The tasks whose data file cannot be one, each with its sentence. */
export function withoutData(
  tasks: readonly Task[],
  request: RunRequest,
): Spec["missing_tasks"] {
  return tasks.flatMap((task) => {
    const path = dataPath(task, request);
    if (path === null) return [];
    const found = foundAt(path);
    if (found?.isFile() === true) return [];
    const how = found === undefined ? "is not there" : "is no file";
    const must = task.shipped
      ? ""
      : `--data-dir (data_dir of a document) must hold ${task.data_file}, and `;
    const reason = `Cannot read the data of ${task.name}: ${must}${path} ${how}`;
    return [{ task: task.name, reason }];
  });
}

/** The study's tasks as the Python half takes them. `tokenizer_dir`: of the model that is asked them. */
export function wireTasks(
  spec: Pick<Spec, "tasks">,
  { tasks, scorers, scorer }: Pick<Registry, "tasks" | "scorers" | "scorer">,
  request: RunRequest,
  tokenizer_dir: string | null,
): WireTask[] {
  const set = withSettings(tasks, request);
  return spec.tasks.map((plan) => {
    const task = set.find((one) => one.name === plan.task);
    if (task === undefined) throw new UsageError(`Cannot find task ${plan.task} of this study`);
    const made = lengthsOf(task) === null ? {} : { tokenizer_dir };
    const wire = { ...wireTask(task, dataPath(task, request), scorer), ...made };
    const judged = asJudged(wire, kindOf(request).rubric(request), { scorers });
    return task.runs_code === true ? drawn(judged, request) : judged;
  });
}

/** A task whose answers are drawn: how many a problem, and by which seed. */
function drawn(task: WireTask, { samples_per_problem, seed }: RunRequest): WireTask {
  const { repeats, generation_kwargs, ...definition } = task.definition ?? {};
  return {
    ...task,
    definition: {
      ...definition,
      repeats: samples_per_problem ?? repeats,
      generation_kwargs: { ...Object(generation_kwargs), seed },
    },
  };
}
