import { join, resolve } from "node:path";
import { mkdir, mkdtemp, rmdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { UsageError } from "../../core/mod.ts";
import { pareHome } from "../../python-backends/home.ts";

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
export const PROJECT_ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/**
 * `PARE_HOME`, else `pare` in the user's cache folder; `store` may lie elsewhere. With `fresh`, all
 * that is made lies in that folder, and only the environments are shared.
 */
export function findHome(
  env: Record<string, string | undefined>,
  store?: string,
  fresh?: string,
): Home {
  const root = pareHome(env);
  if (fresh !== undefined) return { ...findHome({ PARE_HOME: fresh }), root };
  return {
    root,
    artifacts: join(root, "artifacts"),
    cache: join(root, "cache"),
    store: store === undefined ? join(root, "store") : resolve(store),
    studies: join(root, "studies"),
    logs: join(root, "logs"),
  };
}

/** Permissions say nothing of a read-only mount, and nothing to root. */
async function tryToWrite(folder: string): Promise<void> {
  await rmdir(await mkdtemp(join(folder, ".writable-")));
}

/**
 * Makes the folders of a home, and looks whether a study may write there; where that cannot be, the
 * sentence says which and why.
 */
export async function checkHome({ root, store }: Home, write: boolean): Promise<void> {
  for (const [what, path] of [["PARE_HOME", root], ["the store", store]] as const) {
    try {
      await mkdir(path, { recursive: true });
      if (write) await tryToWrite(path);
    } catch (error) {
      const { code = "", message } = error as NodeJS.ErrnoException;
      if (code === "ENOSPC") throw error;
      const why = code === "EEXIST" || code === "ENOTDIR"
        ? "a file is in the way"
        : /^(EACCES|EPERM|EROFS)$/.test(code)
        ? "it may not be written"
        : message;
      const by = what === "the store"
        ? "name another by --store"
        : "set PARE_HOME to another folder";
      throw new UsageError(`Cannot use ${path} for ${what}: ${why}; ${by}`);
    }
  }
}
