import { bytes, duration, number, parameterCount, withError } from "../view/format.ts";
import {
  latencyText,
  parametersDiffer,
  ratioText,
  standing,
  type TrialRow,
} from "../view/trial_rows.ts";
import { textTable } from "./table.ts";

/** The trials of a study as a table for a terminal. */
export function trialTable(rows: readonly TrialRow[], recommended: string | null): string {
  const accuracy = rows.some((row) => row.accuracy !== null);
  const sized = parametersDiffer(rows);
  return textTable(
    [
      "trial",
      "recipe",
      accuracy ? "accuracy ± SE" : "perplexity ± SE",
      ...(accuracy ? ["perplexity"] : []),
      "ms/token",
      "× baseline",
      ...(sized ? ["parameters"] : []),
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
      latencyText(row),
      ratioText(row),
      ...(sized ? [parameterCount(row.parameters)] : []),
      bytes(row.size_bytes),
      bytes(row.memory_bytes),
      number(row.reward),
      duration(row.seconds),
      standing(row, recommended),
    ]),
  );
}
