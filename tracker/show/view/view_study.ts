import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Artifact, isDecisive, type JournalRecord } from "../../../core/mod.ts";
import { readSamples } from "../../store/rows/sample_file.ts";
import type { Store } from "../../store/store.ts";
import { buildView } from "./build_view.ts";
import type { StudyView } from "./study_view.ts";

/** Where an artifact lies: as recorded, or beside a store that was moved with its home since. */
function placed(artifact: Artifact, root: string): Artifact {
  if (existsSync(artifact.location)) return artifact;
  const moved = join(root, "..", "artifacts", artifact.artifact_id);
  return existsSync(moved) ? { ...artifact, location: moved } : artifact;
}

/** A study as its journal tells it, whether or not it is open in this process. */
export async function viewStudy(store: Store | null, study_id: string): Promise<StudyView> {
  const records: JournalRecord[] = await store?.journalOf(study_id) ?? [];
  const root = store?.paths.root ?? "";
  const view = await buildView(study_id, records, async (trialId) => {
    const written = records.findLast((record) =>
      record.type === "samples_written" && record.trial_id === trialId &&
      record.stage === undefined &&
      isDecisive(record.fidelity)
    );
    if (written?.type !== "samples_written") return null;
    return await readSamples(join(root, written.path), written.sha256);
  });
  const artifacts = [...view.artifacts].map(([id, one]) => [id, placed(one, root)] as const);
  return { ...view, artifacts: new Map(artifacts) };
}
