import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";

/** Where the parts of a store lie: a shelf of runs, and an index over all of them. */
export interface StorePaths {
  root: string;
  /** A folder a run. */
  runs: string;
  database: string;
  /** The one journal of a store of schema 65 and before: it is read for ever and never written. */
  old_journal: string;
  /** The lock of such a store's one writer. */
  old_lock: string;
}

/** The parts of the store directory `root`. */
export function storePaths(root: string): StorePaths {
  return {
    root,
    runs: join(root, "runs"),
    database: join(root, "pare.duckdb"),
    old_journal: join(root, OLD_JOURNAL),
    old_lock: join(root, "lock"),
  };
}

/** The name of an old store's journal, relative to the store. */
export const OLD_JOURNAL = "journal.jsonl";

/** Where the parts of a run lie. */
export interface RunPaths {
  /** Relative to the store: what tells journals apart. */
  readonly name: string;
  readonly folder: string;
  readonly journal: string;
  readonly lock: string;
}

/** The parts of the run of a study, in the store directory `root`. */
export function runPaths(root: string, study_id: string): RunPaths {
  const inside = runFolder(study_id);
  const folder = join(root, inside);
  return {
    name: join(inside, "journal.jsonl"),
    folder,
    journal: join(folder, "journal.jsonl"),
    lock: join(folder, "lock"),
  };
}

/** Folder of a study's run, relative to the store. */
export function runFolder(study_id: string): string {
  return join("runs", pathComponent(study_id));
}

/** The study whose folder has this name; null: no folder of a run is called so. */
export function studyOfFolder(name: string): string | null {
  try {
    const study_id = decodeURIComponent(name);
    return pathComponent(study_id) === name ? study_id : null;
  } catch {
    return null;
  }
}

/**
 * A name as one component of a path: letters, digits, `.`, `_` and `-` stay, the rest becomes
 * `%XX`. Refuses what would leave the directory or no file system takes.
 */
export function pathComponent(name: string): string {
  const safe = [...new TextEncoder().encode(name)].map((byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9._-]/.test(char)
      ? char
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
  if (safe === "" || /^\.+$/.test(safe) || safe.length > 200) {
    throw new UsageError(
      `Cannot use "${name.slice(0, 80)}" as a file name: give a shorter, plain name`,
    );
  }
  return safe;
}

/** Path of a trial's per-sample results, relative to the store. */
export function samplesPath(
  study_id: string,
  trial_id: string,
  fidelity: string,
): string {
  const trial = trial_id.startsWith(`${study_id}/`)
    ? trial_id.slice(study_id.length + 1)
    : trial_id;
  return join(
    runFolder(study_id),
    "samples",
    `${pathComponent(trial)}-${pathComponent(fidelity)}.parquet`,
  );
}

/** Path of a trial's worker log, relative to the store. */
export function logPath(study_id: string, trial_id: string, call: string): string {
  const trial = trial_id.startsWith(`${study_id}/`)
    ? trial_id.slice(study_id.length + 1)
    : trial_id;
  return join(
    runFolder(study_id),
    "logs",
    `${pathComponent(trial)}-${pathComponent(call)}.log`,
  );
}
