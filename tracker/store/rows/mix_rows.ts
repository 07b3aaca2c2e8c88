import type { JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment } from "./change.ts";

type MixesCompared = Extract<JournalRecord, { type: "mixes_compared" }>;

/** The mixes of one question, in the order in which they were thought of. */
export function mixRows(record: MixesCompared, position: number): Change[] {
  const { study_id, artifact_id, mix_id, budget_bytes, seed } = record;
  const own = { study_id, artifact_id, mix_id, position, compared_at: moment(record.at) };
  return [
    { op: "forget", tables: ["mix_candidates"], where: { study_id, mix_id } },
    ...adds(
      "mix_candidates",
      record.mixes.map(({ less_uniform, kl_by_window, ...mix }, number) => ({
        ...own,
        budget_bytes,
        number,
        ...mix,
        windows: kl_by_window.length,
        less_uniform: less_uniform?.mean ?? null,
        interval_low: less_uniform?.low ?? null,
        interval_high: less_uniform?.high ?? null,
        seed,
      })),
    ),
  ];
}
