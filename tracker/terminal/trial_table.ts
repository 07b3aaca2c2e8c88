import { trialName } from "../../core/mod.ts";
import { duration, number } from "../view/number_text.ts";
import type { StudyView } from "../view/study_view.ts";
import { trialColumns } from "../view/trial_columns.ts";
import { standing } from "../view/trial_rows.ts";
import { textTable } from "./table.ts";

/** The trials of a study as a table for a terminal. */
export function trialTable(
  { rows, recommended, spec }: Pick<StudyView, "rows" | "recommended" | "spec">,
): string {
  const columns = trialColumns({ rows, spec });
  return textTable(
    ["trial", "recipe", ...columns.map(({ heading }) => heading), "reward", "took", ""],
    rows.map((row) => [
      trialName(row.number),
      row.recipe,
      ...columns.map(({ cell }) => cell(row)),
      number(row.reward),
      duration(row.seconds),
      standing(row, recommended),
    ]),
  );
}
