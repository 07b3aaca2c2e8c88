import type { StageCheck } from "./check.ts";
import { chaosChecks, ethicsChecks } from "./behaviour_checks.ts";
import { criticalChecks, type JudgedStage, retentionChecks } from "./retention_checks.ts";

/** What all checks of an attempt come to together. */
export type AttemptVerdict = "passed" | "failed" | "critical" | "undecided" | "unjudged";

/** Every check on quality of one attempt, on the samples of one rung. */
export function qualityChecks(judging: JudgedStage): StageCheck[] {
  return [
    ...retentionChecks(judging),
    ...criticalChecks(judging),
    ...chaosChecks(judging),
    ...ethicsChecks(judging, false),
    ...ethicsChecks(judging, true),
  ];
}

/** One failed check fails an attempt, a critical one the run; nothing to judge by lets nothing pass. */
export function verdictOf(checks: readonly StageCheck[]): AttemptVerdict {
  const has = (decision: StageCheck["decision"], about?: StageCheck["about"]) =>
    checks.some((one) => one.decision === decision && (about === undefined || one.about === about));
  if (has("failed", "critical")) return "critical";
  if (has("failed")) return "failed";
  if (has("undecided")) return "undecided";
  return checks.some((one) =>
      one.value !== null && one.decision === "passed" && one.about === "core"
    )
    ? "passed"
    : "unjudged";
}
