import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change } from "./change.ts";

/** Quality in the midst of a chain. */
export function stageRows(
  record: Extract<JournalRecord, { type: "stage_evaluated" }>,
  position: number,
): Change[] {
  const { study_id, trial_id, stage, attempt, artifact_id } = record;
  const about = { study_id, trial_id, position, stage, attempt, artifact_id };
  return adds(
    "stage_measurements",
    record.measurements.map((one) => ({
      ...about,
      metric: one.metric,
      value: one.value,
      unit: one.unit,
      direction: one.direction,
      n: one.n,
      standard_error: one.standard_error,
      fidelity: one.fidelity,
      task: one.task,
      slice: one.slice,
    })),
  );
}
