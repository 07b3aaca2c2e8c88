import type { JournalRecord } from "../../core/mod.ts";
import { adds, type Change, measurementRow, moment } from "./change.ts";
import { importedRows } from "./imported_rows.ts";
import { studyRows } from "./study_rows.ts";
import { artifactRows, closedTrialRows, openedTrialRows } from "./trial_rows.ts";

/** Everything that a record changes. `samples_written` also brings its file, read by the sink. */
export function recordChanges(record: JournalRecord, position: number): Change[] {
  switch (record.type) {
    case "study_opened":
      return studyRows(record, position);
    case "study_resumed": {
      const where = { study_id: record.study_id };
      const set = { resumed_at: moment(record.at), closed_at: null, stop: null, message: null };
      return [{ op: "change", table: "studies", where, set }];
    }
    case "study_closed": {
      const { study_id, stop, message, recommended } = record;
      const set = { closed_at: moment(record.at), stop, message, recommended };
      return [{ op: "change", table: "studies", where: { study_id }, set }];
    }
    case "trial_opened":
      return openedTrialRows(record, position);
    case "trial_closed":
      return closedTrialRows(record.trial, position);
    case "artifact_written":
      return artifactRows(record, position);
    case "samples_written": {
      const { study_id, trial_id, fidelity, path, rows, sha256 } = record;
      const where = { study_id, trial_id, fidelity };
      return [
        { op: "forget", tables: ["sample_files", "samples"], where },
        ...adds("sample_files", [{ ...where, path, rows, sha256 }]),
      ];
    }
    case "measured": {
      const { study_id, trial_id, measurements } = record;
      return adds(
        "measurements",
        measurements.map((m) => measurementRow(m, study_id, trial_id, position)),
      );
    }
    case "alert": {
      const { study_id, trial_id, condition, evidence, action } = record;
      return adds("alerts", [
        {
          study_id,
          trial_id,
          position,
          happened_at: moment(record.at),
          condition,
          evidence,
          action,
        },
      ]);
    }
    case "resources": {
      const { type: _, at, ...figures } = record;
      return adds("resources", [{ ...figures, position, happened_at: moment(at) }]);
    }
    case "episode_closed":
      return episodeRows(record, position);
    case "run_imported":
      return importedRows(record, position);
  }
}

function episodeRows(
  { at, episode }: Extract<JournalRecord, { type: "episode_closed" }>,
  position: number,
): Change[] {
  const { front, refused, ...fields } = episode;
  const { study_id, number } = episode;
  return [
    ...adds("episodes", [{
      ...fields,
      position,
      happened_at: moment(at),
      front_size: front.length,
    }]),
    ...adds("episode_front", front.map((trial_id, rank) => ({ study_id, number, rank, trial_id }))),
    ...adds("refused", refused.map((one) => ({ study_id, number, ...one }))),
  ];
}
