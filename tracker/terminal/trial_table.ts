import { bytes, duration, number, withError } from "../view/format.ts";
import type { TrialRow } from "../view/trial_rows.ts";
import { textTable } from "./table.ts";

function sign(row: TrialRow, recommended: string | null): string {
  if (row.trial_id === recommended) return "recommended";
  if (row.baseline) return "baseline";
  if (row.state !== "completed") return row.state;
  if (row.violated) return "breaks a constraint";
  return (row.on_front ? "front" : "beaten") + (row.undecided ? ", undecided" : "");
}

/** The trials of a study as a table for a terminal. */
export function trialTable(rows: readonly TrialRow[], recommended: string | null): string {
  const accuracy = rows.some((row) => row.accuracy !== null);
  return textTable(
    [
      "trial",
      "recipe",
      accuracy ? "accuracy ± SE" : "perplexity ± SE",
      ...(accuracy ? ["perplexity"] : []),
      "ms/token",
      "size",
      "memory",
      "reward",
      "took",
      "",
    ],
    rows.map((row) => [
      `t${String(row.number).padStart(2, "0")}`,
      row.recipe,
      accuracy ? withError(row.accuracy) : withError(row.perplexity, 2),
      ...(accuracy ? [number(row.perplexity?.value, 4)] : []),
      number(row.latency_ms?.value),
      bytes(row.size_bytes),
      bytes(row.memory_bytes),
      number(row.reward),
      duration(row.seconds),
      sign(row, recommended),
    ]),
  );
}
