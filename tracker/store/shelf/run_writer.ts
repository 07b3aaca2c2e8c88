import { rmdirSync, rmSync, statSync } from "node:fs";
import { UsageError } from "../../../core/mod.ts";
import { type FileLock, named, tryLock } from "../../../python-backends/file_lock.ts";
import { makeFolder, syncFolder } from "../../../python-backends/whole_file.ts";
import { type Journal, openJournal } from "../journal/journal.ts";
import { runPaths } from "../store_paths.ts";
import { runOwner } from "./writers.ts";

/** A run that this process writes: nobody else does until it is closed. */
export interface RunWriter {
  readonly study_id: string;
  readonly lock: FileLock;
  readonly journal: Journal;
  /** Waits for what was appended. A run in which nothing was recorded is gone then. */
  close(): Promise<void>;
}

function removeUnused({ folder, journal, lock }: ReturnType<typeof runPaths>): void {
  rmSync(journal, { force: true });
  rmSync(lock, { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // Its set-up left a log there.
  }
}

/** Null also where the folder goes in this moment, as its last writer had recorded nothing. */
function lockRun({ lock, folder }: ReturnType<typeof runPaths>): FileLock | null {
  try {
    return tryLock(lock, folder);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Opens the run of a study at once, or gives null where another process writes it. */
export function tryRunWriter(root: string, study_id: string): RunWriter | null {
  const paths = runPaths(root, study_id);
  makeFolder(paths.folder);
  const lock = lockRun(paths);
  if (lock === null) return null;
  try {
    const journal = openJournal(paths.journal);
    if (journal.end === 0) syncFolder(paths.folder);
    return {
      study_id,
      lock,
      journal,
      async close() {
        await journal.close();
        // While nobody else may write there, but for a note of a study that an old store tells of.
        const { size } = statSync(paths.journal, { throwIfNoEntry: false }) ?? { size: null };
        if (size === 0) removeUnused(paths);
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The sentence where another process writes the run. */
export function runRefusal(root: string, study_id: string): string {
  const owner = runOwner(root, study_id);
  const who = owner === null ? "another process" : named(owner);
  return `Cannot write the study ${study_id} in the store ${root} as ${who} is writing it; wait for ` +
    "that process or stop it. Other studies can run in this store meanwhile";
}

/** Opens the run of a study, waiting up to `wait_ms` for whoever writes it. */
export async function openRunWriter(
  root: string,
  study_id: string,
  wait_ms: number,
): Promise<RunWriter> {
  const until = performance.now() + wait_ms;
  for (let pause = 2;; pause = Math.min(pause * 2, 100)) {
    const writer = tryRunWriter(root, study_id);
    if (writer !== null) return writer;
    if (performance.now() >= until) throw new UsageError(runRefusal(root, study_id));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
