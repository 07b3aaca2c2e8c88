import { askedFront } from "../metrics/asked_front.ts";
import { isDistance, isQualityMetric, isShare } from "../metrics/metric_table.ts";
import { overTasks, type QualityMetric } from "../evidence/quality.ts";
import type { Task } from "../contract/plugin.ts";
import { unknownName, UsageError } from "../errors.ts";
import type { RunRequest, Sampling, TaskSampling } from "../schemas/request.ts";
import type { TaskPlan } from "../schemas/spec.ts";
import { DEFAULT_SAMPLING } from "./choose_samples.ts";
import type { TaskChoice } from "./choose_tasks.ts";
import { canonicalName } from "./dataset_class.ts";

/** The tasks that a user means by a name: one of that name, or those that a dataset's word chooses. */
export function tasksMeant(name: string, tasks: readonly Task[]): Task[] {
  const own = tasks.filter((task) => task.name === name);
  if (own.length > 0) return own;
  return tasks.filter((task) =>
    task.datasets.some((word) => canonicalName(word) === canonicalName(name))
  );
}

/** Settings by a user's names as settings by task; a name of no task is refused. */
export function byTask<T>(
  given: Readonly<Record<string, T>> | undefined,
  tasks: readonly Task[],
  kind: string,
): Map<string, T> {
  const found = new Map<string, T>();
  for (const [name, value] of Object.entries(given ?? {})) {
    const wanted = tasksMeant(name, tasks);
    if (wanted.length === 0) {
      throw new UsageError(unknownName(kind, name, tasks.map((task) => task.name)));
    }
    for (const task of wanted) found.set(task.name, value);
  }
  return found;
}

/** The sampling of each task that has one of its own. */
export function samplingByTask(
  sampling: Sampling | undefined,
  tasks: readonly Task[],
): Map<string, TaskSampling> {
  return byTask(sampling?.by_task, tasks, "task to sample");
}

/** The smaller of two limits, where there are any. */
function least(...limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

/** Samples that a task's own sampling, else the study's, lets through; undefined: all. */
export function limitOf(
  sampling: Sampling | undefined,
  own: TaskSampling | undefined,
): number | undefined {
  return own === undefined ? sampling?.limit : least(own.limit, own.total_limit);
}

/**
 * The quality of a study of these tasks: what its front asks for, else the mean of scores from 0 to
 * 1, else perplexity.
 */
export function qualityOf(tasks: readonly Task[], front: RunRequest["front"]): QualityMetric {
  const reported = tasks.flatMap((task) => overTasks(task.reported_metric) ?? []);
  const named = askedFront(front) ?? [];
  checkDistances("draw a front of", named.map(({ name }) => name), tasks, {});
  const asked = named.find(({ name }) => isQualityMetric(name))?.name;
  if (asked === undefined) return reported.includes("accuracy") ? "accuracy" : "perplexity";
  const found = reported.find((one) => one === asked);
  if (found !== undefined) return found;
  throw new UsageError(
    `Cannot draw a front of ${asked} as no task of this study gives it: ` +
      tasks.map((task) => `${task.name} reports ${task.reported_metric}`).join(", "),
  );
}

/** Refuses a KL on text where no benchmark is a text, and what is of answers where none is scored by them. */
export function checkDistances(
  what: string,
  asked: readonly string[],
  tasks: readonly Task[],
  { likelihood }: Pick<RunRequest["samples"], "likelihood">,
): void {
  const reported = tasks.map((task) => overTasks(task.reported_metric));
  if (asked.includes("kl") && !reported.includes("perplexity")) {
    throw new UsageError(
      `Cannot ${what} kl as no benchmark of this study is a text: add one, such as ` +
        "wikitext2 or a file of {text}, to --dataset, or take choice_kl, over the choices",
    );
  }
  if (asked.includes("answer_likelihood") && likelihood === undefined) {
    throw new UsageError(
      `Cannot ${what} answer_likelihood as no rung of this study measures it: count its samples, such ` +
        "as --samples likelihood=200",
    );
  }
  const scored = asked.find((name) => isDistance(name) && name !== "kl");
  if (scored !== undefined && !reported.includes("accuracy")) {
    throw new UsageError(
      `Cannot ${what} ${scored} as no benchmark of this study is scored by answers: take kl`,
    );
  }
}

/** Whether a sample of the task takes parts of it (MMLU's subjects) by other shares than their own. */
function drawsByStrata(task: Task, sampling: TaskSampling = DEFAULT_SAMPLING): boolean {
  const metadata = task.definition?.["metadata"];
  const hasGroups = typeof metadata === "object" && metadata !== null && "groups" in metadata;
  return hasGroups &&
    (sampling.strategy === "stratified" || sampling.limit_per_task !== undefined);
}

/**
 * What each task reports and how much it counts: as the user says, else as its set does, else 1. A
 * task counts for the primary quality where it is scored from 0 to 1; perplexity does where no task
 * is, or the front asks for it.
 */
export function planTasks(
  { tasks, weights }: Pick<TaskChoice, "tasks" | "weights">,
  { sampling, task_weights, front }: Pick<RunRequest, "sampling" | "task_weights" | "front">,
): TaskPlan[] {
  const quality = qualityOf(tasks, front);
  const ownWeights = byTask(task_weights, tasks, "task to weigh");
  const ownSampling = samplingByTask(sampling, tasks);
  return tasks.map((task) => {
    const weight = ownWeights.get(task.name) ?? weights[task.name] ?? 1;
    return {
      task: task.name,
      task_version: task.version,
      metric: task.reported_metric,
      primary: overTasks(task.reported_metric) === quality,
      ...(isShare(task.reported_metric) && task.chance !== null ? { chance: task.chance } : {}),
      ...(drawsByStrata(task, ownSampling.get(task.name) ?? sampling)
        ? { strata: "by_rows" as const }
        : {}),
      ...(weight === 1 ? {} : { weight }),
    };
  });
}
