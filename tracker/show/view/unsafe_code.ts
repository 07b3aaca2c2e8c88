import { trialName } from "../../../core/mod.ts";
import type { StudyView } from "./study_view.ts";

/** What ran outside the sandbox and in which trials, in a sentence; null: nothing did. */
export function unsafeSentence({ alerts, trials }: Pick<StudyView, "alerts" | "trials">) {
  const told = alerts.filter(({ condition }) => condition === "unsafe_code");
  if (told.length === 0) return null;
  const evidence = [...new Set(told.map((alert) => alert.evidence))].join("; ");
  const names = trials.filter(({ trial_id }) => told.some((alert) => alert.trial_id === trial_id))
    .map(({ number }) => trialName(number));
  return `UNSAFE CODE (--unsafe-code): ${evidence}, in ${names.join(", ")}.`;
}
