import { ofTask, ownRow } from "../evidence/quality.ts";
import { meanAndErrorOf, weightedMean } from "../evidence/strata.ts";
import { declared, DISTANCES } from "../metrics/metric_table.ts";
import type { Evaluation } from "../ports.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec, TaskPlan } from "../schemas/spec.ts";
import {
  type AnsweredTwice,
  answeredTwice,
  changedAnswer,
  choiceKl,
  flipped,
  MOST_KL,
} from "./sample_distance.ts";

type SampleMetric = "choice_kl" | "flips" | "changed_answers";

interface Reading {
  readonly of: (pair: AnsweredTwice) => number | boolean | null;
  readonly how: string;
}

/** What is read of each sample, and how its mean was read, in words. */
const BY_SAMPLE: Record<SampleMetric, Reading> = {
  choice_kl: {
    of: choiceKl,
    how:
      `KL of the original's distribution over the options to the trial's, each at most ${MOST_KL}`,
  },
  flips: { of: flipped, how: "answers that turned from right to wrong or back" },
  changed_answers: { of: changedAnswer, how: "answers other than the original's" },
};

/** The row of a task; null where some of its samples do not tell: a mean of the others would flatter. */
function taskRow(
  metric: SampleMetric,
  like: Measurement,
  pairs: readonly AnsweredTwice[],
): Measurement | null {
  const found = pairs.map(BY_SAMPLE[metric].of);
  const values = found.flatMap((one) => one === null ? [] : [Number(one)]);
  if (values.length === 0 || values.length < pairs.length) return null;
  const { mean, standard_error } = meanAndErrorOf(values, pairs.map(({ original }) => original));
  const { chance: _, stratum_rows: __, spread: ___, form: ____, ...own } = like;
  return {
    ...own,
    ...declared(metric)!, // it is in the table of metrics
    metric,
    value: mean,
    n: values.length,
    standard_error,
    method: BY_SAMPLE[metric].how,
  };
}

/** The mean over tasks by their weights, with the error of independent parts; its `task` is null. */
export function overAllTasks(
  metric: string,
  parts: readonly { row: Measurement; weight: number }[],
): Measurement {
  const rows = parts.map(({ row }) => row);
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const errors = parts.map(({ row, weight }) => weight * (row.standard_error ?? NaN) / total);
  const error = Math.hypot(...errors);
  const tasks = parts.map(({ row, weight }) =>
    weight === 1 ? `${row.task}` : `${row.task} (weight ${weight})`
  );
  return {
    ...rows[0]!,
    metric,
    value: weightedMean(parts.map(({ row, weight }) => ({ value: row.value, weight }))),
    n: rows.reduce((sum, row) => sum + row.n, 0),
    standard_error: Number.isNaN(error) ? null : error,
    task: null,
    task_version: null,
    method: `mean of ${tasks.join(", ")}; ${rows[0]!.method}`,
  };
}

/** The row of a task that says what its samples are of; undefined: it was not measured. */
function likeRow(evaluation: Evaluation, plan: TaskPlan): Measurement | undefined {
  return ownRow(evaluation.measurements, plan);
}

/**
 * How far a trial's answers are from the original's on the same samples: for each task the KL over the
 * options of a choice, flips (right to wrong and back) and changed answers, then each over all tasks
 * that have it (`task` null), the KL on text among them, which the worker measured. The original's own
 * are 0: give it as both. A figure that no task has is none.
 */
export function distanceRows(
  spec: Pick<Spec, "tasks">,
  original: Evaluation,
  trial: Evaluation,
): Measurement[] {
  const byTask = spec.tasks.flatMap((plan) => {
    const like = likeRow(trial, plan);
    if (like === undefined) return [];
    const pairs = answeredTwice(ofTask(original, plan.task), ofTask(trial, plan.task));
    return (Object.keys(BY_SAMPLE) as SampleMetric[]).flatMap((metric) =>
      taskRow(metric, like, pairs) ?? []
    );
  });
  const known = [...trial.measurements, ...byTask];
  const aggregates = DISTANCES.flatMap(({ name }) => {
    const parts = spec.tasks.flatMap(({ task, weight = 1 }) => {
      const row = known.findLast((one) =>
        one.metric === name && one.task === task && one.slice === null
      );
      return row === undefined ? [] : [{ row, weight }];
    });
    return parts.length === 0 ? [] : [overAllTasks(name, parts)];
  });
  return [...byTask, ...aggregates];
}
