import { frontOf, replayStudy } from "../core/mod.ts";
import type { Store } from "./store/store.ts";

/** Artifacts that stay: what stands on a study's front, and what a study recommends. */
export async function keptArtifacts(store: Store): Promise<string[]> {
  const kept = new Set<string>();
  for (const { study_id } of await store.studies()) {
    const records = await store.journalOf(study_id);
    const study = replayStudy(records, study_id);
    if (study === null) continue;
    const recommended = records.flatMap((record) =>
      record.type === "study_closed" && record.recommended !== null ? [record.recommended] : []
    );
    const front = frontOf(study.trials, study.opened.spec).members.map(({ trial }) => trial);
    const named = study.trials.filter((trial) => recommended.includes(trial.trial_id));
    for (const { artifact_ids } of [...front, ...named]) {
      const last = artifact_ids.at(-1);
      if (last !== undefined) kept.add(last);
    }
  }
  return [...kept];
}
