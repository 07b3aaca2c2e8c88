import { kindOf, type Measurement, type Trial } from "../../../core/mod.ts";
import { textTable } from "../../show/terminal/table.ts";
import { isMeanOfParts, isQuality } from "../../show/reports/benchmark_blocks.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { bytes, duration, withError } from "../../show/view/number_text.ts";

/** What is evaluated, in a line, before it begins. */
export function modelLine({ facts, request }: Pick<StudyView, "facts" | "request">): string {
  const { model } = facts;
  const { endpoint, judge } = kindOf(request).asks(request);
  const where = endpoint === undefined
    ? `model ${model.model_name}: ${(model.parameters / 1e6).toFixed(1)} M parameters, ` +
      `${bytes(model.fp16_bytes)} at 16 bits`
    : `model ${endpoint.model ?? "that the server lists"} at ${endpoint.base_url}, ` +
      `${endpoint.concurrency} requests at a time`;
  return judge === undefined ? where : `${where}; judge at ${judge.base_url}`;
}

/** Each task's figures and the means over its parts, then those over all; parts are in the report. */
function figures(measurements: readonly Measurement[]): Measurement[] {
  const shown = measurements.filter((one) =>
    isQuality(one) && (one.slice === null || isMeanOfParts(one.slice))
  );
  return [...shown.filter((row) => row.task !== null), ...shown.filter((row) => row.task === null)];
}

/** The evaluation as a table with its time, how it ended and what to do then, for a terminal. */
export function evaluationText(view: StudyView, ended: string): string {
  const trial = view.trials.at(-1);
  const shown = trial === undefined ? [] : figures(trial.measurements);
  const rows = shown.map((one) => [
    one.slice === null ? one.task ?? "all" : `  ${one.slice}`,
    one.metric,
    withError(one, one.metric === "perplexity" ? 2 : 3),
    String(one.n),
    (one.method ?? "").slice(0, 90),
  ]);
  const table = textTable(["task", "metric", "value ± SE", "n", "how"], rows);
  const { hint } = trial?.failure ?? { hint: null };
  return [
    ...(rows.length === 0 ? [] : [table, ""]),
    ...(trial === undefined ? [] : [closing(view, trial)]),
    `Ended: ${ended}`,
    ...(hint === null ? [] : [`  ${hint}`]),
  ].join("\n");
}

function closing(view: StudyView, { trial_id, state }: Trial): string {
  const row = view.rows.find((one) => one.trial_id === trial_id);
  return `${trial_id}: ${state}, took ${duration(row?.seconds ?? 0)}`;
}
