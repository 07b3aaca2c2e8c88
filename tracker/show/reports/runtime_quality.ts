import { type Measurement, type Trial, trialName } from "../../../core/mod.ts";
import { number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";

export const RUNTIME_QUALITY_HEAD = [
  "trial",
  "task",
  "score in the runtime ± SE",
  "n",
  "less the evaluation's ± SE",
  "KL of logits",
  "KL of rounding alone",
];

/** KL in nats of the same numbers summed in another order is 1e-8; of other numerics, 1e-5 and more. */
const SAME_NUMERICS = 1e-6;

function withError(row: Measurement | undefined): string {
  if (row === undefined) return "–";
  const error = row.standard_error === null ? "" : ` ± ${number(row.standard_error, 2)}`;
  return `${number(row.value, 3)}${error}`;
}

function valueOf(trial: Trial, metric: string): string {
  const row = trial.measurements.findLast((one) => one.metric === metric);
  return row === undefined ? "–" : row.value.toExponential(1);
}

/** One line for a trial that its runtime computes otherwise and does not score; else none. */
function unscored(trial: Trial): string[][] {
  const kl = trial.measurements.findLast(({ metric }) => metric === "runtime_kl");
  if (kl === undefined || kl.value < SAME_NUMERICS) return [];
  const name = trialName(trial.number);
  const rounding = valueOf(trial, "rounding_kl");
  return [[name, "not scored there", "–", "–", "–", valueOf(trial, "runtime_kl"), rounding]];
}

/** Trials that run with other numerics than they were evaluated with, scored as they run. */
export function runtimeQualityRows({ trials }: StudyView): string[][] {
  return trials.flatMap((trial) => {
    const scores = trial.measurements.filter(({ metric, slice }) =>
      metric === "runtime_accuracy" && slice === null
    );
    if (scores.length === 0) return unscored(trial);
    const tasks = scores.filter(({ task }) => task !== null);
    return (tasks.length > 1 ? scores : tasks).map((row) => [
      trialName(trial.number),
      row.task ?? "mean over tasks",
      withError(row),
      String(row.n),
      withError(
        trial.measurements.find((one) =>
          one.metric === "runtime_accuracy_change" && one.task === row.task
        ),
      ),
      valueOf(trial, "runtime_kl"),
      valueOf(trial, "rounding_kl"),
    ]);
  });
}
