import type { Measurement, Trial } from "../../core/mod.ts";
import { number } from "../view/format.ts";
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

function withError(row: Measurement | undefined): string {
  if (row === undefined) return "–";
  const error = row.standard_error === null ? "" : ` ± ${number(row.standard_error, 2)}`;
  return `${number(row.value, 3)}${error}`;
}

function valueOf(trial: Trial, metric: string): string {
  const row = trial.measurements.findLast((one) => one.metric === metric);
  return row === undefined ? "–" : row.value.toExponential(1);
}

/** Trials that run with other numerics than they were evaluated with, scored as they run. */
export function runtimeQualityRows({ trials }: StudyView): string[][] {
  return trials.flatMap((trial) =>
    trial.measurements.filter(({ metric, slice }) =>
      metric === "runtime_accuracy" && slice === null
    ).map((row) => [
      `t${String(trial.number).padStart(2, "0")}`,
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
    ])
  );
}
