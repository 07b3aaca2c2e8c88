import { frontOf, type JournalRecord, replayStudy } from "../core/mod.ts";
import type { Store } from "./store/store.ts";

/**
 * Artifacts that stay: what stands on a study's front, what a study recommends, and what an
 * unfinished study still works on: its baseline, and trials that are running or held open.
 */
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
    for (const id of unfinished(records, study.open.map(({ trial_id }) => trial_id))) kept.add(id);
    for (const { artifact_ids } of [...front, ...named]) {
      const last = artifact_ids.at(-1);
      if (last !== undefined) kept.add(last);
    }
  }
  return [...kept];
}

/** Artifacts of open trials, and the root of every one while the study is not closed. */
function unfinished(records: readonly JournalRecord[], open: readonly string[]): string[] {
  const last = records.findLast(({ type }) => type === "study_closed" || type === "study_resumed");
  const running = last?.type !== "study_closed";
  return records.flatMap((record) => {
    if (record.type !== "artifact_written") return [];
    const { trial_id, artifact } = record;
    return open.includes(trial_id) || running && artifact.parent_id === null
      ? [artifact.artifact_id]
      : [];
  });
}
