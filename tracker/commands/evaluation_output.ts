import type { Measurement } from "../../core/mod.ts";
import { textTable } from "../terminal/table.ts";
import type { StudyView } from "../view/study_view.ts";
import { bytes, duration, withError } from "../view/format.ts";

/** What is evaluated, in a line, before it begins. */
export function modelLine({ facts, request }: Pick<StudyView, "facts" | "request">): string {
  const { model } = facts;
  const { endpoint, judge } = request.evaluation ?? {};
  const where = endpoint === undefined
    ? `model ${model.model_name}: ${(model.parameters / 1e6).toFixed(1)} M parameters, ` +
      `${bytes(model.fp16_bytes)} at 16 bits`
    : `model ${endpoint.model ?? "that the server lists"} at ${endpoint.base_url}, ` +
      `${endpoint.concurrency} requests at a time`;
  return judge === undefined ? where : `${where}; judge at ${judge.base_url}`;
}

/** The figures of whole tasks, then those over all; parts of tasks are in the report. */
function figures(measurements: readonly Measurement[]): Measurement[] {
  const whole = measurements.filter(({ slice, metric }) =>
    slice === null && metric !== "size_bytes"
  );
  return [...whole.filter((row) => row.task !== null), ...whole.filter((row) => row.task === null)];
}

/** The evaluation as a table, with its time, for a terminal. */
export function evaluationTable(view: StudyView): string {
  const trial = view.trials.at(-1);
  if (trial === undefined) return "";
  const row = view.rows.find(({ trial_id }) => trial_id === trial.trial_id);
  const table = textTable(
    ["task", "metric", "value ± SE", "n", "how"],
    figures(trial.measurements).map((one) => [
      one.task ?? "all",
      one.metric,
      withError(one, one.metric === "perplexity" ? 2 : 3),
      String(one.n),
      (one.method ?? "").slice(0, 90),
    ]),
  );
  return `${table}\n\n${trial.trial_id}: ${trial.state}, took ${duration(row?.seconds ?? 0)}`;
}
