import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change } from "./change.ts";

export const PROTOCOL_TABLES = ["protocols", "protocol_parts"] as const;

/** Under which protocol each task was evaluated, whole and part by part. */
export function protocolRows(
  record: Extract<JournalRecord, { type: "samples_written" }>,
): Change[] {
  const { study_id, trial_id, fidelity, protocol = {}, protocol_parts = {} } = record;
  const own = { study_id, trial_id, fidelity };
  return [
    ...adds(
      "protocols",
      Object.entries(protocol).map(([task, hash]) => ({ ...own, task, protocol: hash })),
    ),
    ...adds(
      "protocol_parts",
      Object.entries(protocol_parts).flatMap(([task, parts]) =>
        Object.entries(parts).map(([part, value]) => ({ ...own, task, part, value }))
      ),
    ),
  ];
}
