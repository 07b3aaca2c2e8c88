import type { BenchmarkSet, Task } from "../contract/plugin.ts";
import { unknownName, UsageError } from "../errors.ts";
import type { DatasetFacts } from "../schemas/facts.ts";
import type { Spec } from "../schemas/spec.ts";
import { canonicalName, type Classified, datasetNames, findBenchmarkSet } from "./dataset_class.ts";

/** The benchmarks of a study, those that it would want and cannot have, and what to say. */
export interface TaskChoice {
  readonly tasks: readonly Task[];
  readonly missing: Spec["missing_tasks"];
  readonly warnings: readonly string[];
  /** How much a task counts in the mean, where its set says so. */
  readonly weights: Readonly<Record<string, number>>;
}

const MISSING = "no plugin of this project offers this benchmark yet";

/** Names that a user may give as a dataset, for messages. */
function knownDatasets(tasks: readonly Task[], sets: readonly BenchmarkSet[]): string[] {
  const have = new Set(tasks.map((task) => task.name));
  const usable = sets.filter((set) => set.tasks.some((task) => have.has(task)));
  const names = [...usable.flatMap((set) => set.datasets), ...tasks.flatMap((t) => t.datasets)];
  return [...new Set(names)].filter((name) => !name.startsWith("custom_")).sort();
}

/** Tasks that say themselves that one of these dataset names chooses them. */
function claiming(tasks: readonly Task[], datasets: readonly string[]): Task[] {
  const wanted = new Set(datasets.map(canonicalName));
  return tasks.filter((task) =>
    [task.name, ...task.datasets].some((name) => wanted.has(canonicalName(name)))
  );
}

/** Whether a benchmark set or a task is meant by this name. */
export function claimsDataset(
  name: string,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): boolean {
  return findBenchmarkSet(name, sets) !== undefined || claiming(tasks, [name]).length > 0;
}

/** The task for a user's own file, by what its lines hold. */
function fileTasks(dataset: DatasetFacts, tasks: readonly Task[]): TaskChoice {
  const word = `custom_${dataset.format ?? ""}`;
  const found = tasks.filter((task) => task.datasets.includes(word));
  if (found.length > 0) {
    return { tasks: found, missing: [], warnings: [], weights: {} };
  }
  throw new UsageError(
    `Cannot evaluate on ${dataset.dataset} as its lines must hold {"prompt", "answer"} or ` +
      `{"text"}: found ${dataset.format ?? "neither"}`,
  );
}

/** What a set gives: its own tasks in its order, then others that claim its name. */
function setTasks(
  dataset: string,
  set: BenchmarkSet,
  tasks: readonly Task[],
): { tasks: Task[]; missing: Spec["missing_tasks"] } {
  const own = set.tasks.flatMap((name) => tasks.filter((task) => task.name === name));
  const others = claiming(tasks, [dataset, ...set.datasets]).filter((task) => !own.includes(task));
  const missing = set.tasks.filter((name) => !own.some((task) => task.name === name))
    .map((task) => {
      const reason = set.reasons?.[task] ?? MISSING;
      return { task, reason: task === dataset ? reason : `${reason}; "${dataset}" asks for it` };
    });
  return { tasks: [...own, ...others], missing };
}

/** Why a benchmark cannot be had, where any set says so. */
function reasonOf(dataset: string, sets: readonly BenchmarkSet[]): string | undefined {
  const known = sets.flatMap((set) => Object.entries(set.reasons ?? {}));
  return known.find(([task]) => canonicalName(task) === canonicalName(dataset))?.[1];
}

/** The set that stands for a class where the dataset itself has none. */
function classSet(classified: Classified, sets: readonly BenchmarkSet[]): BenchmarkSet | undefined {
  const name = classified.dataset_class;
  return findBenchmarkSet(name, sets) ?? sets.find((set) => set.dataset_class === name) ??
    findBenchmarkSet("general", sets);
}

/** The reasons that say more than that a benchmark is not there yet. */
function because(missing: Spec["missing_tasks"]): string {
  const told = missing.filter(({ reason }) => !reason.startsWith(MISSING))
    .map(({ task, reason }) => `${task}: ${reason.split(";")[0]}`);
  return told.length === 0 ? "" : ` (${told.join("; ")})`;
}

function refuse(dataset: string, missing: Spec["missing_tasks"], known: string[]): never {
  if (missing.length > 0 && missing.every(({ reason }) => !reason.startsWith(MISSING))) {
    const told = Map.groupBy(missing, ({ reason }) => reason.replace(/; "[^"]*" asks for it$/, ""));
    const reasons = [...told].map(([reason, of]) => {
      const names = of.map(({ task }) => task).filter((name) => name !== dataset).join(", ");
      return names === "" ? reason : `${names}: ${reason}`;
    });
    throw new UsageError(`Cannot evaluate on "${dataset}": ${reasons.join("; ")}`);
  }
  const wanted = missing.map(({ task }) => task).join(", ");
  throw new UsageError(
    `Cannot evaluate on "${dataset}" as none of its benchmarks is available yet: it asks for ` +
      `${wanted || "none"}${because(missing)}. Available: ${known.join(", ")}, or a .jsonl file`,
  );
}

/**
 * A dataset that no set and no task claims: refused where a set waits for that very benchmark, else
 * measured on the set of its class, which is said aloud.
 */
function unlistedTasks(
  dataset: string,
  classified: Classified,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): TaskChoice {
  const known = knownDatasets(tasks, sets);
  const sentence = unknownName("dataset", dataset, known);
  if (sentence.includes("Did you mean")) throw new UsageError(sentence);
  const set = classSet(classified, sets);
  const isClass = canonicalName(dataset) === classified.dataset_class;
  const missing = isClass ? [] : [{ task: dataset, reason: reasonOf(dataset, sets) ?? MISSING }];
  const awaited = sets.some((one) =>
    one.tasks.some((name) => canonicalName(name) === canonicalName(dataset))
  );
  if (set === undefined || awaited) refuse(dataset, missing, known);
  const stand_in = setTasks(set.datasets[0] ?? dataset, set, tasks);
  if (stand_in.tasks.length === 0) refuse(dataset, [...missing, ...stand_in.missing], known);
  const names = stand_in.tasks.map((task) => task.name).join(", ");
  const warning =
    `"${dataset}" is no benchmark of this project (${classified.reason}): quality is measured ` +
    `on ${names}, which stand for ${classified.dataset_class}. Known: ${known.join(", ")}`;
  return {
    tasks: stand_in.tasks,
    missing: [...missing, ...stand_in.missing],
    warnings: [warning],
    weights: set.weights ?? {},
  };
}

function missingWarning(
  dataset: string,
  { tasks, missing }: Pick<TaskChoice, "tasks" | "missing">,
): string[] {
  if (missing.length === 0) return [];
  const names = (all: readonly string[]) => all.join(", ");
  return [
    `"${dataset}" asks for ${names(missing.map(({ task }) => task))}, which this project does ` +
    `not have yet${because(missing)}: quality is measured on ${
      names(tasks.map((task) => task.name))
    } alone`,
  ];
}

/**
 * The benchmarks for a dataset. What its set asks for and no plugin offers is listed as missing,
 * never replaced in silence; a name nearly right is answered with "Did you mean"; where nothing
 * can be had the refusal says what can.
 */
export function chooseTasks(
  dataset: DatasetFacts,
  classified: Classified,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): TaskChoice {
  if (classified.known === "file") return fileTasks(dataset, tasks);
  const names = datasetNames(dataset.dataset);
  return names.length > 1
    ? listedTasks(names, tasks, sets)
    : namedTasks(names[0] ?? dataset.dataset, classified, tasks, sets);
}

function namedTasks(
  name: string,
  classified: Classified,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): TaskChoice {
  const choice = claimedTasks(name, tasks, sets);
  if (choice === null) return unlistedTasks(name, classified, tasks, sets);
  if (choice.tasks.length === 0) refuse(name, choice.missing, knownDatasets(tasks, sets));
  return { ...choice, warnings: missingWarning(name, choice) };
}

/** What the set of a name gives, else the tasks that claim it; null: nobody knows the name. */
function claimedTasks(
  name: string,
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): Omit<TaskChoice, "warnings"> | null {
  const set = findBenchmarkSet(name, sets);
  if (set !== undefined) return { ...setTasks(name, set, tasks), weights: set.weights ?? {} };
  const claimed = claiming(tasks, [name]);
  return claimed.length === 0 ? null : { tasks: claimed, missing: [], weights: {} };
}

/**
 * Several names: all that they ask for, each task once. No name of a list gets a stand-in; one that
 * cannot be had is left out with its reason, as long as another is left.
 */
function listedTasks(
  names: readonly string[],
  tasks: readonly Task[],
  sets: readonly BenchmarkSet[],
): TaskChoice {
  const known = knownDatasets(tasks, sets);
  const choices = names.map((name) => {
    const choice = claimedTasks(name, tasks, sets);
    if (choice === null) throw new UsageError(unknownName("dataset", name, known));
    return { name, ...choice };
  });
  const found = [...new Set(choices.flatMap((choice) => choice.tasks))];
  const missing = [...new Map(choices.flatMap((c) => c.missing).map((one) => [one.task, one]))
    .values()];
  if (found.length === 0) refuse(names.join(", "), missing, known);
  const left = found.map((task) => task.name).join(", ");
  const warnings = choices.flatMap((choice) =>
    choice.tasks.length > 0 ? missingWarning(choice.name, choice) : choice.missing.map((
      { task, reason },
    ) => `${task} is left out and quality is measured on ${left} alone: ${reason}`)
  );
  const weights = Object.assign({}, ...choices.map((choice) => choice.weights));
  return { tasks: found, missing, warnings, weights };
}
