import type { Recommendation } from "../../advice/recommend.ts";
import type { JournalRecord } from "../../schemas/journal.ts";
import type { StageDecision } from "../../schemas/stages/decision.ts";

/** The ledger of a staged run as its journal tells it; empty: it has none yet. */
export function ledgerOf(records: readonly JournalRecord[]): StageDecision[] {
  return records.flatMap((record) => record.type === "stages_decided" ? record.decisions : []);
}

/** What a staged run ships stands in the place of a recommendation: its gates have chosen. */
export function stagedChoice(
  ledger: readonly StageDecision[],
  baseline: string,
): Recommendation {
  const shipped = ledger.find(({ decision }) => decision === "ship");
  const levels = ledger.filter(({ about }) => about === "level").map(({ reason }) => reason);
  const { trial_id = null, reason = "The stages are not done: nothing is shipped yet." } =
    shipped ??
      {};
  const kept = trial_id === null || trial_id === baseline;
  return {
    trial_id: trial_id ?? baseline,
    keep_original: kept,
    reasons: [reason, ...levels].map(sentence),
    best: [],
    next: [],
  };
}

function sentence(text: string): string {
  const whole = /[.!?]$/.test(text) ? text : `${text}.`;
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}
