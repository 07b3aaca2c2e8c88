import type { Task } from "../contract/plugin.ts";
import { unknownName, UsageError } from "../errors.ts";
import { overTasks } from "../evidence/quality.ts";
import { isDistance, isShare, type Metric, METRICS } from "../metrics/metric_table.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Constraints, Goal } from "../schemas/spec.ts";
import { tasksMeant } from "../tasks/plan_tasks.ts";

/** Refuses an amount that no figure could miss, or none could reach. */
function checkAmount(written: string, { on, of, amount, percent }: Goal): void {
  const share = of === "task" || isShare(on);
  const size = Math.abs(amount);
  if (isDistance(on) && (percent || amount > 0)) {
    throw new UsageError(
      `Cannot set the goal ${written}: the original's own ${on} is 0, so none is better, and per cent ` +
        `of it say nothing; write ${on}=-0.1 for at most so far from it`,
    );
  }
  if (share && !percent && size > 1) {
    throw new UsageError(
      `Cannot set the goal ${written}: ${on} lies from 0 to 1, so it cannot differ by ${size}; ` +
        `write ${written}% for per cent of the original's`,
    );
  }
  const lower = METRICS.some((one) => one.name === on && one.direction === "minimize");
  const whole = lower ? amount > 1 : share && amount < -1;
  if (!percent || !whole) return;
  throw new UsageError(
    `Cannot set the goal ${written}: ${on} cannot fall by more than 100 % of the original's`,
  );
}

/** Refuses a task whose score does not lie from 0 to 1: a difference of it has no bound. */
export function checkScored({ name, reported_metric }: Task, attempt: string): void {
  if (isShare(reported_metric)) return;
  throw new UsageError(
    `Cannot ${attempt} ${name} as its ${reported_metric} does not lie from 0 to 1: ` +
      "limit a task that is scored by answers, or take --gates kl=...",
  );
}

/** Refuses a quality that no task of the study gives: the goal would stay unmeasured. */
function checkGiven({ name, kind }: Metric, tasks: readonly Task[]): void {
  if (kind !== "quality") return;
  if (tasks.some(({ reported_metric }) => overTasks(reported_metric) === name)) return;
  throw new UsageError(
    `Cannot set a goal on ${name} as the study has no mean of it: name a task, of ` +
      tasks.map((task) => `${task.name} (${task.reported_metric})`).join(", "),
  );
}

/** What one name is a goal on: a metric, a task, or the tasks of a dataset's word. */
function aimedAt(name: string, tasks: readonly Task[]): Pick<Goal, "on" | "of">[] {
  const metric = METRICS.find((one) => one.name === name || one.short === name);
  if (metric !== undefined) {
    checkGiven(metric, tasks);
    return [{ on: metric.name, of: "metric" }];
  }
  const meant = tasksMeant(name, tasks);
  for (const task of meant) checkScored(task, "set a goal on");
  if (meant.length > 0) return meant.map((task) => ({ on: task.name, of: "task" }));
  const known = METRICS.flatMap((
    one,
  ) => [one.name, ...(one.short === undefined ? [] : [one.short])]);
  throw new UsageError(
    unknownName("metric or task to set a goal on", name, [
      ...tasks.map((one) => one.name),
      ...known,
    ]),
  );
}

/** Goals against the baseline, by the names that metrics and tasks have here: one goal a name. */
export function goalsAsked(
  asked: RunRequest["constraints"]["goals"],
  tasks: readonly Task[],
): Pick<Constraints, "goals"> {
  const written = new Map<string, string>();
  const goals = Object.entries(asked ?? {}).flatMap(([name, text]) => {
    const percent = text.endsWith("%");
    const amount = Number.parseFloat(text) / (percent ? 100 : 1);
    return aimedAt(name, tasks).map(({ on, of }): Goal => {
      const goal = { on, of, amount, percent };
      const [before, now] = [written.get(on), `${name}=${text}`];
      if (before !== undefined) {
        throw new UsageError(
          `Cannot set two goals on ${on}, ${before} and ${now}: leave one of them out`,
        );
      }
      written.set(on, now);
      checkAmount(now, goal);
      return goal;
    });
  });
  return goals.length === 0 ? {} : { goals };
}
