import { isDecisive, trialName } from "../../../core/mod.ts";
import { duration, number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";
import { standing } from "../view/trial_rows.ts";
import { textTable } from "./table.ts";

/** What stays longest in a narrow terminal, before the other figures: the quality's heading varies. */
const FIRST = ["trial", "", "quality", "size", "× baseline", "recipe", "ms/token"];

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
  const columns = trialColumns({ rows, spec });
  const quality = columns[0]?.heading ?? "";
  const first = FIRST.map((title) => title === "quality" ? quality : title);
  return textTable(
    ["trial", "recipe", ...columns.map(({ heading }) => heading), "reward", "took", ""],
    byRung(rows).map((row) => [
      trialName(row.number),
      row.recipe,
      ...columns.map(({ cell }) => cell(row)),
      number(row.reward),
      duration(row.seconds),
      standing(row, recommended),
    ]),
    { first, ...(width === undefined ? {} : { width }) },
  );
}
