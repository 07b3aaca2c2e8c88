import { isDecisive } from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";
import { textTable } from "./table.ts";

const COLUMNS = ["trial", "recipe", "figures", "reward", "seconds", "standing"] as const;

/** What stays longest in a narrow terminal, before the other figures: the quality's heading varies. */
const FIRST = ["trial", "standing", "quality", "size", "× baseline", "recipe", "ms/token"];

/** Those of a lower rung alone stand below, apart: their figures are of other samples. */
function byRung(rows: StudyView["rows"]): StudyView["rows"] {
  const isLower = (row: StudyView["rows"][number]) =>
    row.state === "completed" && row.fidelity !== null && !isDecisive(row.fidelity);
  return [...rows.filter((row) => !isLower(row)), ...rows.filter(isLower)];
}

/** The trials of a study as a table for a terminal; `width` as of `textTable`. */
export function trialTable(
  { rows, recommended, spec }: Pick<StudyView, "rows" | "recommended" | "spec">,
  width?: number,
): string {
  const columns = trialColumns({ rows, recommended, spec }, COLUMNS);
  const quality = columns[2]!.heading; // the first of the figures
  const first = FIRST.map((title) => title === "quality" ? quality : title);
  return textTable(
    columns.map(({ heading }) => heading),
    byRung(rows).map((row) => columns.map(({ cell }) => cell(row))),
    { first, ...(width === undefined ? {} : { width }) },
  );
}
