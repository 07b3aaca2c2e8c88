import type { Difference, JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

type Reproduced = Extract<JournalRecord, { type: "reproduced" }>;

/** A difference in one line, such as `environment default: 1a2b, now 3c4d`. */
export function differenceText({ what, name, recorded, again }: Difference): string {
  return `${what} ${name}: ${recorded ?? "none"}, now ${again ?? "none"}`;
}

/** The figures of a trial that was run again; a repetition that is recorded twice stands once. */
export function driftRows(record: Reproduced, position: number): Change[] {
  const { study_id, trial_id, reproduction_id, state, differences } = record;
  const where = { study_id, trial_id, reproduction_id };
  const own = { ...where, position, reproduced_at: moment(record.at), state };
  const differs = differences.map(differenceText);
  return [
    { op: "forget", tables: ["drift"], where },
    ...adds(
      "drift",
      record.drift.map(({ interval, ...figures }) => ({
        ...own,
        ...figures,
        interval_low: interval?.[0] ?? null,
        interval_high: interval?.[1] ?? null,
        differs,
      })),
    ),
  ];
}
