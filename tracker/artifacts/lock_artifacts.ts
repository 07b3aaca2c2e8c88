import { acquireLock, type FileLock } from "../../python-backends/file_lock.ts";
import type { ArtifactPaths } from "./artifact_files.ts";

/** The lock under which artifacts come, go and begin to be used. */
export function lockArtifacts(paths: ArtifactPaths): Promise<FileLock> {
  return acquireLock(paths.lock, {
    what: "the artifact store",
    wait_ms: 60_000,
    guard: paths.root,
  });
}
