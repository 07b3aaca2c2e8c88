import {
  type Comparable,
  FULL,
  isShare,
  type Measurement,
  metricOf,
  ownRow,
  type ResolvedAction,
  type TaskPlan,
  trialName,
} from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";

/** A column: a benchmark, its figure and which way is better. */
export interface ResultTask {
  readonly task: string;
  readonly metric: string;
  readonly higher: boolean;
  /** From 0 to 1, shown in percent. */
  readonly share: boolean;
}

export interface ResultCell {
  readonly value: number;
  readonly standard_error: number | null;
  readonly n: number;
}

/** A method at a budget, or the full cache. */
export interface ResultRow {
  readonly trial_id: string;
  readonly name: string;
  /** Without its budget; `full` of the original. */
  readonly method: string;
  /** `∞` of the full cache. */
  readonly budget: string;
  readonly state: string;
  /** Of the context's cache, mean over all samples; null: it was not counted. */
  readonly kv_bytes: number | null;
  /** One a task; null: it was not measured. */
  readonly cells: readonly (ResultCell | null)[];
  /** Mean of what is a share, as it is shown; null where one is missing, or none is a share. */
  readonly average: number | null;
}

/** Methods by budgets and benchmarks, as papers print them. */
export interface ResultTable {
  readonly model: string;
  readonly tasks: readonly ResultTask[];
  /** The full cache first, then as they were run. */
  readonly rows: readonly ResultRow[];
  /** Benchmarks on which the full cache is not told from guessing: they decide nothing. */
  readonly untold: readonly string[];
  /** Baselines that a comparison of caches is expected to have, and that were not run. */
  readonly lacking: readonly string[];
}

export const FULL_CACHE = "full";
export const ENDLESS = "∞";
/** With which a new policy is compared, beside the full cache. */
const EXPECTED = ["streaming", "h2o", "snapkv", "pyramidkv"] as const;

/** A figure as tables print it: a share in percent. */
export function shownValue(value: number, { share }: Pick<ResultTask, "share">): string {
  return share ? (100 * value).toFixed(1) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function taskOf(plan: TaskPlan, measurements: readonly Measurement[]): ResultTask | null {
  const row = ownRow(measurements, plan);
  if (row === undefined) return null;
  const known = metricOf(row.metric);
  return {
    task: plan.task,
    metric: row.metric,
    higher: (known?.direction ?? row.direction) === "maximize",
    share: isShare(row.metric),
  };
}

function cellsOf(trial: Comparable, plans: readonly TaskPlan[]): (ResultCell | null)[] {
  const full = trial.measurements.filter(({ fidelity }) => fidelity === FULL);
  return plans.map((plan) => {
    const row = ownRow(full, plan);
    if (row === undefined) return null;
    return { value: row.value, standard_error: row.standard_error, n: row.n };
  });
}

function averageOf(
  cells: readonly (ResultCell | null)[],
  tasks: readonly ResultTask[],
): number | null {
  const shares = cells.filter((_, at) => tasks[at]!.share);
  const known = shares.filter((one) => one !== null);
  if (known.length === 0 || known.length < shares.length) return null;
  return known.reduce((sum, { value }) => sum + value, 0) / known.length;
}

function bytesOf({ measurements }: Comparable): number | null {
  const row = measurements.findLast((one) =>
    one.metric === "context_kv_bytes" && one.task === null
  );
  return row === undefined ? null : Math.round(row.value); // a mean over samples
}

/** What a cache's label says that it keeps: a share, or tokens, which may be said in parts. */
function budgetOf(last: ResolvedAction | undefined): string {
  const word = last?.label?.find((one) => /^(\d+(\+\d+)*|[\d.]+%)$/.test(one));
  if (word === undefined || word.endsWith("%")) return word ?? ENDLESS;
  return String(word.split("+").reduce((sum, part) => sum + Number(part), 0));
}

function rowOf(
  trial: Comparable,
  plans: readonly TaskPlan[],
  tasks: readonly ResultTask[],
): ResultRow {
  const cells = cellsOf(trial, plans);
  const last = trial.actions.at(-1);
  const before = trial.actions.slice(0, -1).map(({ method }) => method);
  return {
    trial_id: trial.trial_id,
    name: trialName(trial.number),
    method: last === undefined ? FULL_CACHE : [...before, last.method].join("+"),
    budget: budgetOf(last),
    state: trial.state,
    kv_bytes: bytesOf(trial),
    cells,
    average: averageOf(cells, tasks),
  };
}

/** The table of a study's trials that were evaluated on all samples; null: no baseline is there. */
export function resultTable(view: StudyView): ResultTable | null {
  const baseline = view.trials.find(({ strategy, state }) =>
    strategy === null && state === "completed"
  );
  if (baseline === undefined) return null;
  const found = view.spec.tasks.flatMap((plan) => {
    const task = taskOf(plan, baseline.measurements);
    return task === null ? [] : [{ plan, task }];
  });
  const plans = found.map(({ plan }) => plan);
  const tasks = found.map(({ task }) => task);
  const rows = [baseline, ...view.trials.filter(({ strategy }) => strategy !== null)]
    .filter(({ state }) => state === "completed" || state === "stopped")
    .map((trial) => rowOf(trial, plans, tasks))
    .filter(({ cells }) => cells.some((one) => one !== null));
  const methods = new Set(rows.map(({ method }) => method));
  return {
    model: view.request.model_name,
    tasks,
    rows,
    untold: untoldOf(view),
    lacking: EXPECTED.filter((name) => !methods.has(name)),
  };
}

function untoldOf({ comparisons }: StudyView): string[] {
  const all = [...comparisons.values()].flat();
  const guessing = all.filter(({ retention }) => retention?.above_chance === null);
  return [...new Set(guessing.map(({ task }) => task))];
}

/** Row numbers that are the best of their budget, column by column, the full cache left out. */
export function bestRows({ rows, tasks }: ResultTable): ReadonlySet<string> {
  const best = new Set<string>();
  const budgets = Map.groupBy(rows.filter(({ budget }) => budget !== ENDLESS), (one) => one.budget);
  for (const group of budgets.values()) {
    if (group.length < 2) continue;
    [...tasks, null].forEach((task, at) => {
      const values = group.map((row) => task === null ? row.average : row.cells[at]?.value ?? null);
      const known = values.filter((one) => one !== null);
      if (known.length < 2) return;
      const top = task?.higher === false ? Math.min(...known) : Math.max(...known);
      group.forEach((row, i) => {
        if (values[i] === top) best.add(`${row.trial_id} ${at}`);
      });
    });
  }
  return best;
}
