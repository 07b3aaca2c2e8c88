import { formatCsv } from "../../store/query/printed_answer.ts";
import { trialFigures } from "./trial_figures.ts";
import type { StudyView } from "./study_view.ts";

/** Every trial with its figures as CSV (RFC 4180), full precision; a column is there if one has it. */
export function leaderboardCsv(view: StudyView): string {
  const rows = trialFigures(view);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return formatCsv({
    columns: names.map((name) => ({ name, type: "" })),
    rows: rows.map((row) => ({ ...row })),
    capped: false,
    stale: null,
  });
}
