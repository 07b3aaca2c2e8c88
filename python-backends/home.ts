import { userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import process from "node:process";
import { UsageError } from "../core/mod.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** A whole path, or none: what is empty or relative says no place, as XDG has it. */
const placeIn = (path: string | undefined) =>
  path !== undefined && isAbsolute(path) ? path : undefined;

/** The user's own folder: HOME, else as the system knows it, as in a job without variables. */
function userFolder(variables: Variables = process.env): string {
  const named = placeIn(variables["HOME"]);
  if (named !== undefined) return named;
  try {
    return userInfo().homedir;
  } catch {
    throw new UsageError(
      "Cannot find your home folder: HOME names none, and this user has no entry in /etc/passwd; " +
        "set HOME, or PARE_HOME to a folder that you may write to",
    );
  }
}

/** A path as a person writes it, whose `~` is the user's folder. */
export function fromUser(path: string): string {
  return path.replace(/^~(?=\/|$)/, () => userFolder());
}

/** Folder in which programs keep what they can make again. */
export function cacheFolder(variables: Variables): string {
  return placeIn(variables["XDG_CACHE_HOME"]) ?? join(userFolder(variables), ".cache");
}

/** Folder of environments, logs, caches: `PARE_HOME`, else `pare` in the user's cache. */
export function pareHome(variables: Variables = process.env): string {
  return resolve(variables["PARE_HOME"] || join(cacheFolder(variables), "pare"));
}

/** Folder that holds the package `pare_backends`; the worker's `PYTHONPATH`. */
export const PYTHON_ROOT = import.meta.dirname!;
