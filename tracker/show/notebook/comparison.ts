import type { Compared, StudiesComparedRow, TrialsComparedRow } from "../view/compare_any.ts";
import type { StudySummary } from "../../store/store.ts";
import { type Displayed, displayed } from "./display.ts";
import { rowsMedia } from "./table.ts";
import type { Rows } from "./trial_tables.ts";

/** Rows of a comparison; `refused` says what may not be compared, and why. */
export type Comparison = Displayed<
  (TrialsComparedRow | StudiesComparedRow)[] & { readonly refused: readonly string[] }
>;

/** A comparison as rows that a cell shows as a table. */
export function comparisonRows({ rows, refused }: Compared): Comparison {
  const value = Object.defineProperty([...rows], "refused", { value: refused });
  return displayed(value as Comparison, () => rowsMedia(rows, { notes: refused }));
}

/** The studies of a store as rows that a cell shows as a table. */
export function studyRows(studies: StudySummary[]): Rows<StudySummary> {
  const notes = studies.length === 0 ? ["Nothing is recorded in this store yet."] : [];
  return displayed(studies, () => rowsMedia(studies, { notes }));
}
