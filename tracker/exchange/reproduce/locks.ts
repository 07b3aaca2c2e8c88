import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Registry } from "../../../core/mod.ts";
import {
  type EnvironmentPins,
  pinsDirectory,
  readPins,
} from "../../../python-backends/environments/environment_pins.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../../python-backends/environments/environments.ts";
import type { RecordedStudy, RecordedTrial } from "../../lab/recorded_trial.ts";

/** Folder of a report's locks: the pins of each environment in a folder of its name. */
const LOCKS = "locks";
/** What an environment's folder holds: both together are its lock. */
const LOCK_FILES = ["environment.json", "requirements.txt"] as const;

/** The environments that made a study's trials, by name, with the hash of their pins. */
function environmentsOf(trials: readonly Pick<RecordedTrial, "provenance">[]): Map<string, string> {
  return new Map(trials.flatMap(({ provenance }) => Object.entries(provenance.environments)));
}

function pinsOf(name: string, directory: string | undefined): EnvironmentPins | null {
  try {
    return readPins(name, directory);
  } catch {
    return null; // no such environment here
  }
}

/** A study's locks as files by name, and a sentence for each environment that has none any more. */
export async function lockFiles(
  { trials }: Pick<RecordedStudy, "trials">,
  { environments }: Pick<Registry, "environments">,
): Promise<{ files: Record<string, string>; missing: string[] }> {
  const files: Record<string, string> = {};
  const missing: string[] = [];
  for (const [name, hash] of environmentsOf(trials)) {
    const directory = environments.get(name);
    const pins = pinsOf(name, directory);
    if (pins?.hash !== hash) {
      const found = pins === null ? "this checkout has none" : `this checkout's is ${pins.hash}`;
      missing.push(`lock of the environment ${name} (${hash}): ${found}`);
      continue;
    }
    for (const file of LOCK_FILES) {
      const path = join(directory ?? pinsDirectory(name), file);
      files[`${LOCKS}/${name}/${file}`] = await readFile(path, "utf8");
    }
  }
  return { files, missing };
}

/** How an environment of a lock's folder is made. */
type Make = (name: string, pins_directory: string) => Promise<{ readonly python: string }>;

/** What becomes of a trial's environments. */
export interface LockedEnvironments {
  /** Made of the folder's locks: the interpreter by the variable that names it. */
  readonly made: Readonly<Record<string, string>>;
  /** A sentence for each that is this checkout's and not the recorded one. */
  readonly others: readonly string[];
}

/**
 * The environments that a trial was made with, where this checkout's pins are others: made of the locks
 * in a report's folder. `wanted` false: none is made, and what differs is told.
 */
export async function lockedEnvironments(
  { provenance }: Pick<RecordedTrial, "provenance">,
  folder: string,
  {
    wanted,
    environments,
    make = (name, pins_directory) => ensureEnvironment(name, { pins_directory }),
  }: {
    readonly wanted: boolean;
    readonly environments: Registry["environments"];
    readonly make: Make;
  },
): Promise<LockedEnvironments> {
  const made: Record<string, string> = {};
  const others: string[] = [];
  for (const [name, hash] of Object.entries(provenance.environments)) {
    if (pinsOf(name, environments.get(name))?.hash === hash) continue;
    const lock = join(folder, LOCKS, name);
    const about = `the environment ${name} is this checkout's, not the recorded ${hash}`;
    if (!LOCK_FILES.every((file) => existsSync(join(lock, file)))) {
      others.push(`${about}: no lock of it was published`);
      continue;
    }
    const found = readPins(name, lock).hash;
    if (found !== hash) others.push(`${about}: the published lock is of ${found}`);
    else if (!wanted) others.push(`${about}: --locks makes that one, as pip installs it`);
    else made[overrideVariable(name)] = (await make(name, lock)).python;
  }
  return { made, others };
}
