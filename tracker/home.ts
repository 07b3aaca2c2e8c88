import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Where pare keeps everything of a user: environments, models, artifacts, caches, the store. */
export interface Home {
  readonly root: string;
  readonly artifacts: string;
  readonly cache: string;
  readonly store: string;
  readonly studies: string;
  readonly logs: string;
}

/** The checkout that this code runs from. */
export const PROJECT_ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** `PARE_HOME`, else `pare` in the user's cache folder; `store` may lie elsewhere. */
export function findHome(env: Record<string, string | undefined>, store?: string): Home {
  const cacheRoot = env["XDG_CACHE_HOME"] ?? join(env["HOME"] ?? ".", ".cache");
  const root = resolve(env["PARE_HOME"] ?? join(cacheRoot, "pare"));
  return {
    root,
    artifacts: join(root, "artifacts"),
    cache: join(root, "cache"),
    store: store === undefined ? join(root, "store") : resolve(store),
    studies: join(root, "studies"),
    logs: join(root, "logs"),
  };
}

/** A path as the user wrote it, seen from the current folder. */
export function fromWorkingFolder(path: string): string {
  return isAbsolute(path) ? path : resolve(path);
}
