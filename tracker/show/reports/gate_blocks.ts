import {
  CHECKED_GATE,
  type GateDecision,
  JOINING_GATE,
  type Trial,
  trialName,
} from "../../../core/mod.ts";
import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, table } from "./blocks.ts";

/** Every trial passes some gate: told is what went otherwise, and what was asked before the end. */
function isTold({ decision, action_index, gate }: GateDecision, { actions }: Trial): boolean {
  if (decision !== "pass" || gate === JOINING_GATE || gate === CHECKED_GATE) return true;
  return gate !== "verification" && action_index !== undefined && action_index < actions.length - 1;
}

function afterWords({ action_index }: GateDecision, { actions }: Trial): string {
  if (action_index === undefined) return "–";
  return `${action_index + 1} of ${actions.length}: ${actions[action_index]?.method ?? "–"}`;
}

function decisionWords({ decision, attempt, adjustment }: GateDecision): string {
  const knobs = Object.entries(adjustment ?? {}).map(([knob, value]) => `${knob}=${value}`);
  return [
    decision.replace("_", " "),
    attempt === undefined || attempt === 1 ? "" : `attempt ${attempt}`,
    knobs.join(", "),
  ].filter((text) => text !== "").join("; ");
}

/** What the gates decided of each action_index of a chain; nothing where all trials passed at their end. */
export function gateBlocks(view: StudyView): Block[] {
  const rows = view.trials.flatMap((trial) =>
    trial.gates.filter((one) => isTold(one, trial)).map((one) => [
      trialName(trial.number),
      afterWords(one, trial),
      one.artifact_id ?? "–",
      one.parent_id ?? "–",
      one.gate,
      decisionWords(one),
      one.reason,
    ])
  );
  const head = ["trial", "after action", "artifact", "its parent", "gate", "decision", "why"];
  return rows.length === 0 ? [] : [heading(2, "Gates"), table(head, rows)];
}
