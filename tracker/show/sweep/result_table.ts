import {
  type Comparable,
  FULL,
  FULL_CACHE,
  isShare,
  mayBeGuessing,
  type Measurement,
  metricOf,
  ownRow,
  type ResolvedAction,
  type Spec,
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
  /** The full cache is told from guessing: where it is not, a difference says nothing of a method. */
  readonly told: boolean;
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
  /**
   * Mean of the scores from 0 to 1, without benchmarks that decide nothing; null where one is missing, or
   * there is none.
   */
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

export const ENDLESS = "∞";
/** With which a new policy is compared, beside the full cache. */
const EXPECTED = ["streaming", "h2o", "snapkv", "pyramidkv"] as const;

/** A figure as tables print it: a share in percent. */
export function shownValue(value: number, { share }: Pick<ResultTask, "share">): string {
  return share ? (100 * value).toFixed(1) : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function taskOf(
  plan: TaskPlan,
  measurements: readonly Measurement[],
  spec: Pick<Spec, "tasks">,
): ResultTask | null {
  const row = ownRow(measurements, plan);
  if (row === undefined) return null;
  const known = metricOf(row.metric);
  return {
    task: plan.task,
    metric: row.metric,
    higher: (known?.direction ?? row.direction) === "maximize",
    share: isShare(row.metric),
    told: !mayBeGuessing(row, spec),
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
  const shares = cells.filter((_, at) => tasks[at]!.share && tasks[at]!.told);
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
    const task = taskOf(plan, baseline.measurements, view.spec);
    return task === null ? [] : [{ plan, task }];
  });
  const plans = found.map(({ plan }) => plan);
  const tasks = found.map(({ task }) => task);
  const rows = [baseline, ...view.trials.filter(({ strategy }) => strategy !== null)]
    .filter(({ state }) => state === "completed" || state === "stopped")
    .map((trial) => rowOf(trial, plans, tasks))
    .filter(({ cells }) => cells.some((one) => one !== null));
  return {
    model: view.request.model_name,
    tasks,
    rows: toldApart(rows, view),
    untold: tasks.filter(({ told }) => !told).map(({ task }) => task),
    lacking: lackingOf(rows),
  };
}

/** Rows of one method and budget are called by their whole recipe. */
function toldApart(rows: readonly ResultRow[], view: StudyView): ResultRow[] {
  const same = Map.groupBy(rows, ({ method, budget }) => `${method} ${budget}`);
  return rows.map((row) => {
    if (same.get(`${row.method} ${row.budget}`)!.length === 1) return row;
    const recipe = view.rows.find(({ trial_id }) => trial_id === row.trial_id)?.recipe;
    return { ...row, method: recipe ?? row.method };
  });
}

/** Methods that were not run, and budgets at which one was not. */
function lackingOf(rows: readonly ResultRow[]): string[] {
  const budgets = [...new Set(rows.map(({ budget }) => budget))].filter((one) => one !== ENDLESS);
  const has = (name: string, budget: string) =>
    rows.some((row) => row.method === name && row.budget === budget);
  return EXPECTED.flatMap((name) => {
    const missing = budgets.filter((budget) => !has(name, budget));
    if (missing.length === 0) return [];
    return missing.length === budgets.length ? [name] : [`${name} at ${missing.join(" and ")}`];
  });
}

/** Cells that are the best of their budget, by trial and column, where that says anything. */
export function bestRows({ rows, tasks }: ResultTable): ReadonlySet<string> {
  const best = new Set<string>();
  const budgets = Map.groupBy(rows.filter(({ budget }) => budget !== ENDLESS), (one) => one.budget);
  for (const group of budgets.values()) {
    if (group.length < 2) continue;
    [...tasks, null].forEach((task, at) => {
      if (task?.told === false) return;
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
