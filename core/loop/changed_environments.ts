import type { Provenance } from "../schemas/provenance.ts";
import { record, type Study } from "./study.ts";

/** Environments whose pins are others than those of the first run, in a sentence each. */
function changedEnvironments(begun: Provenance, now: Provenance): string[] {
  return Object.entries(now.environments).flatMap(([name, hash]) => {
    const first = begun.environments[name];
    return first === undefined || first === hash ? [] : [
      `the environment ${name} has the pins ${hash} now; the study began with ${first}`,
    ];
  });
}

/** Says of a study that goes on what its environments differ by from those that it began with. */
export async function alertOfChangedEnvironments(study: Study, begun: Provenance): Promise<void> {
  const { study_id, provenance } = study.input;
  for (const evidence of changedEnvironments(begun, provenance)) {
    await record(study, {
      type: "alert",
      study_id,
      trial_id: null,
      condition: "changed_environment",
      evidence,
      action: "recorded",
      outcome: "the study goes on",
    });
  }
}
