import { type Artifact, runStages, type StudyResult } from "../../core/mod.ts";
import { artifactId } from "../artifacts/artifact_files.ts";
import type { ArtifactStore } from "../artifacts/artifact_store.ts";
import type { StartedStudy } from "./start_study.ts";

/** Runs the stages of a study that has been started, on artifacts whose bytes are read again. */
export function driveStages(
  { input, ports }: Pick<StartedStudy, "input" | "ports">,
  artifacts: Pick<ArtifactStore, "verifyChecksums">,
): Promise<StudyResult> {
  return runStages(input, {
    ...ports,
    idOfBytes: (artifact) => idOfBytes(artifact, artifacts),
  });
}

/** The id of what lies on disk under an artifact's name. raises in words where a file is another */
export async function idOfBytes(
  artifact: Artifact,
  artifacts: Pick<ArtifactStore, "verifyChecksums">,
): Promise<string> {
  const [problem] = await artifacts.verifyChecksums(artifact);
  if (problem !== undefined) throw new Error(problem);
  return artifactId(artifact.files);
}
