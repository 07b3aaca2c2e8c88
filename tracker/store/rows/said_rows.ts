import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

type RecordOf<T extends JournalRecord["type"]> = Extract<JournalRecord, { type: T }>;

/** What a worker warned of, and what became of its work. */
export function alertRows(record: RecordOf<"alert">, position: number): Change[] {
  const { type: _, at, outcome = null, ...alert } = record;
  return adds("alerts", [{ ...alert, outcome, position, happened_at: moment(at) }]);
}

/** A log's last word: a call that ran twice has one file. */
export function logRows(record: RecordOf<"log_written">, position: number): Change[] {
  const { type: _, at, ...log } = record;
  return [
    { op: "forget", tables: ["logs"], where: { path: log.path } },
    ...adds("logs", [{ ...log, position, written_at: moment(at) }]),
  ];
}

/** A note stands once, also where it was recorded twice. */
export function noteRows(record: RecordOf<"note">, position: number): Change[] {
  const { type: _, at, ...note } = record;
  return [
    { op: "forget", tables: ["notes"], where: { note_id: note.note_id } },
    ...adds("notes", [{ ...note, position, written_at: moment(at) }]),
  ];
}

/** Study and trial that a record is about. */
export function subjectOf(record: JournalRecord): { study_id: string; trial_id: string | null } {
  switch (record.type) {
    case "trial_closed":
      return { study_id: record.trial.study_id, trial_id: record.trial.trial_id };
    case "episode_closed":
      return { study_id: record.episode.study_id, trial_id: record.episode.trial_id };
    default:
      return {
        study_id: record.study_id,
        trial_id: "trial_id" in record ? record.trial_id : null,
      };
  }
}

/** Every record as one event. */
export function eventChange(
  record: JournalRecord,
  at: { readonly journal: string; readonly position: number },
): Change {
  const row = { ...at, happened_at: moment(record.at), type: record.type, ...subjectOf(record) };
  return { op: "add", table: "events", row };
}
