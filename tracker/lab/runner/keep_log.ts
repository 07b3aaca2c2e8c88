import { dirname, relative } from "node:path";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { sha256File } from "../../ground/storage/file_hash.ts";
import type { Store } from "../../store/store.ts";

/** A log as it lies in the store. */
export interface KeptLog {
  /** Relative to the store. */
  readonly path: string;
  readonly bytes: number;
  /** Of the whole file, with what earlier runs of the call left in it. */
  readonly sha256: string;
}

/** Takes the log of a call's worker when it has ended; null where it left none. */
export type KeepLog = (trialId: string, call: string, path: string) => Promise<KeptLog | null>;

/** Keeps a study's logs in its store, one file per trial and call. */
export function keepLogIn(store: Store, study_id: string): KeepLog {
  return async (trialId, call, path) => {
    const kept = store.logPath(study_id, trialId, call);
    try {
      await mkdir(dirname(kept), { recursive: true });
      // A call runs more than once in a trial: its logs follow each other.
      await writeFile(kept, await readFile(path), { flag: "a" });
      await rm(path);
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
    return {
      path: relative(store.paths.root, kept),
      bytes: (await stat(kept)).size,
      sha256: await sha256File(kept),
    };
  };
}
