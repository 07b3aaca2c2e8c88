import { UsageError } from "../../../core/errors.ts";
import { placeOf } from "../../artifacts/artifact_places.ts";
import type { Home } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";
import { findTrial } from "../find_study.ts";

/** The folder of what a trial wrote last. */
export async function artifactFolder(home: Home, name: string): Promise<string> {
  await using store = await openStore(home.store, { write: false });
  const { study_id, trial_id } = await findTrial(store, name);
  let found: string | null = null;
  for (const record of await store.journalOf(study_id)) {
    if (record.type === "artifact_written" && record.trial_id === trial_id) {
      found = record.artifact.weights_id ?? record.artifact.artifact_id; // a setting names its weights
    }
  }
  if (found === null) {
    throw new UsageError(`Cannot plan for ${trial_id} as it has written no checkpoint`);
  }
  return await placeOf(found, home.store);
}
