import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FileLock, lockOwner, named, tryLock } from "../../../python-backends/file_lock.ts";
import { runPaths } from "../../store/store_paths.ts";

function lockPath(root: string, study_id: string): string {
  return join(runPaths(root, study_id).folder, "mlflow.lock");
}

/** One process mirrors a study at a time; null where another does. */
export function lockMirror(root: string, study_id: string): FileLock | null {
  const path = lockPath(root, study_id);
  mkdirSync(runPaths(root, study_id).folder, { recursive: true });
  return tryLock(path);
}

/** The sentence for a study that another process mirrors. */
export function mirroredElsewhere(root: string, study_id: string): string {
  const owner = lockOwner(lockPath(root, study_id));
  const who = owner === null ? "another process" : named(owner);
  return `${who} mirrors the study ${study_id} of the store ${root} already`;
}
