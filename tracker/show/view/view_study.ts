import { isDecisive, type JournalRecord, scoresOf } from "../../../core/mod.ts";
import { placeRecords } from "../../artifacts/artifact_places.ts";
import { readNewestSamples } from "../../store/rows/sample_file.ts";
import type { Store } from "../../store/store.ts";
import { buildView, type SampleReader } from "./build_view.ts";
import type { StudyView } from "./study_view.ts";

/** A study as its journal tells it, whether or not it is open in this process. */
export async function viewStudy(store: Store | null, study_id: string): Promise<StudyView> {
  const root = store?.paths.root ?? "";
  const records = await placeRecords(await store?.journalOf(study_id) ?? [], root);
  return await buildView(study_id, records, sampleReader(root, records));
}

/** Reads a trial's samples of its full evaluation by the newest scores. `root`: of the store. */
export function sampleReader(root: string, records: readonly JournalRecord[]): SampleReader {
  const scored_again = records.filter((record) => record.type === "scored_again");
  return async (trialId) => {
    const written = records.findLast((record) =>
      record.type === "samples_written" && record.trial_id === trialId &&
      record.action_index === undefined &&
      isDecisive(record.fidelity)
    );
    if (written?.type !== "samples_written") return null;
    return await readNewestSamples(root, written, scoresOf({ scored_again }, written));
  };
}
