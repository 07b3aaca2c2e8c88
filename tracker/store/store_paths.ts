import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";

/** Where the parts of a store lie. */
export interface StorePaths {
  root: string;
  journal: string;
  database: string;
  lock: string;
  samples: string;
  logs: string;
}

/** The parts of the store directory `root`. */
export function storePaths(root: string): StorePaths {
  return {
    root,
    journal: join(root, "journal.jsonl"),
    database: join(root, "pare.duckdb"),
    lock: join(root, "lock"),
    samples: join(root, "samples"),
    logs: join(root, "logs"),
  };
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
    "samples",
    pathComponent(study_id),
    `${pathComponent(trial)}-${pathComponent(fidelity)}.parquet`,
  );
}

/** Path of a trial's worker log, relative to the store. */
export function logPath(study_id: string, trial_id: string, stage: string): string {
  const trial = trial_id.startsWith(`${study_id}/`)
    ? trial_id.slice(study_id.length + 1)
    : trial_id;
  return join(
    "logs",
    pathComponent(study_id),
    `${pathComponent(trial)}-${pathComponent(stage)}.log`,
  );
}
