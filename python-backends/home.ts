import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Folder of environments, logs, caches: `PARE_HOME`, else `pare` in the user's cache. */
export function pareHome(variables: NodeJS.ProcessEnv = process.env): string {
  if (variables.PARE_HOME) return variables.PARE_HOME;
  return join(variables.XDG_CACHE_HOME || join(homedir(), ".cache"), "pare");
}

/** Folder that holds the package `pare_backends`; the worker's `PYTHONPATH`. */
export const PYTHON_ROOT = import.meta.dirname!;
