import { type JournalRecord, knobWords } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

/** Quality in the midst of a chain. */
export function actionFigureRows(
  record: Extract<JournalRecord, { type: "action_evaluated" }>,
  position: number,
): Change[] {
  const { study_id, trial_id, action_index, attempt, artifact_id } = record;
  const about = { study_id, trial_id, position, action_index, attempt, artifact_id };
  return adds(
    "action_measurements",
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

/** The ledger of a staged run. */
export function stageDecisionRows(
  { study_id, at, decisions }: Extract<JournalRecord, { type: "stages_decided" }>,
): Change[] {
  return adds(
    "stage_decisions",
    decisions.map(({ number, interval, adjustment, ...one }) => ({
      study_id,
      decision_index: number,
      happened_at: moment(at),
      ...one,
      interval_low: interval?.[0] ?? null,
      interval_high: interval?.[1] ?? null,
      adjustment: adjustment === undefined ? null : knobWords(adjustment),
    })),
  );
}
