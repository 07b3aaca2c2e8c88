import type { Artifact } from "../../core/mod.ts";
import { artifactId } from "./artifact_files.ts";
import type { ArtifactStore } from "./artifact_store.ts";

/** The id of what lies on disk under an artifact's name. raises in words where a file is another */
export async function idOfBytes(
  artifact: Artifact,
  artifacts: Pick<ArtifactStore, "verifyChecksums">,
): Promise<string> {
  const [problem] = await artifacts.verifyChecksums(artifact);
  if (problem !== undefined) throw new Error(problem);
  return artifactId(artifact.files);
}
