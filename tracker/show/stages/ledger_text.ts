import type { StageDecision } from "../../../core/mod.ts";
import { textTable } from "../terminal/table.ts";
import { number } from "../view/number_text.ts";

const short = (artifact: string | null): string => artifact?.slice(0, 8) ?? "–";
const shown = (value: number | null): string => value === null ? "–" : number(value);

/** A range in few characters; "–" where there is none. */
function range(interval: StageDecision["interval"]): string {
  return interval === null ? "–" : `${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}`;
}

const WORDS: Partial<Record<StageDecision["decision"], string>> = {
  not_applicable: "not judged",
  roll_back: "roll back",
  advance: "goes on",
};

function wordOf({ decision, by_estimate }: StageDecision): string {
  return `${WORDS[decision] ?? decision}${by_estimate ? " (estimate)" : ""}`;
}

function checkLine(row: StageDecision): string[] {
  return [
    row.subject === null ? row.about : `${row.about} ${row.subject}`,
    wordOf(row),
    shown(row.value),
    range(row.interval),
    shown(row.threshold),
    row.samples === null ? "–" : String(row.samples),
  ];
}

/** Rows of one attempt, or those about what is shipped. */
function attemptText(rows: readonly StageDecision[]): string {
  const [first] = rows;
  const decided = rows.find(({ about }) => about === "attempt") ??
    rows.find(({ decision }) => decision === "ship");
  const checks = rows.filter((row) => row !== decided);
  const heading = first!.attempt === 0
    ? "shipped"
    : `${first!.stage}, attempt ${first!.attempt} (${first!.trial_id ?? "no trial"})`;
  const table = checks.length === 0 ? [] : [textTable(
    ["check", "decision", "value", "95 %", "threshold", "samples"],
    checks.map(checkLine),
    { first: ["check", "decision", "value", "threshold", "95 %", "samples"] },
  )];
  const told = checks.filter((row) => row.value === null || row.decision === "not_applicable")
    .filter(({ decision }) => decision !== "passed")
    .map((row) => `  ${row.reason}`);
  if (decided === undefined) return [heading, ...table, ...told].join("\n");
  const adjustment = Object.entries(decided.adjustment ?? {})
    .map(([knob, value]) => `${knob}=${value}`).join(", ");
  const path = decided.decision === "ship"
    ? `ship ${decided.stage} ${decided.to_artifact}`
    : `${wordOf(decided)}: ${short(decided.from_artifact)} -> ${short(decided.to_artifact)}` +
      (adjustment === "" ? "" : `, with ${adjustment}`);
  return [heading, ...table, ...told, `=> ${path}`, `   ${decided.reason}`].join("\n");
}

/** The whole ledger, attempt by attempt. */
export function ledgerText(rows: readonly StageDecision[]): string {
  const attempts = Map.groupBy(
    rows,
    ({ stage_index, attempt }) => attempt === 0 ? "shipped" : `${stage_index} ${attempt}`,
  );
  return [...attempts.values()].map(attemptText).join("\n\n");
}
