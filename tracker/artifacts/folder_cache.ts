import { join, resolve } from "node:path";
import { acquireLock } from "../../python-backends/file_lock.ts";
import { putFolder } from "../ground/storage/whole_folder.ts";
import { pathComponent } from "../store/store_paths.ts";
import { clearDead, ownedName, remove } from "./artifact_files.ts";
import { cachePaths, collectForms, type FormReport, leaseLabel } from "./form_garbage.ts";

/** Directories that cost time to make and are the same for equal keys. */
export interface FolderCache {
  readonly root: string;
  /**
   * The directory of a key; `make` fills an empty one where it is not there yet. While this process
   * lives, gc leaves it alone.
   */
  cached(
    kind: string,
    key: string,
    make: (directory: string) => Promise<void>,
  ): Promise<{ directory: string; made: boolean }>;
  /** An empty directory until it is disposed of; a dead process's is cleared with the next key. */
  scratch(): Promise<{ directory: string } & AsyncDisposable>;
  /** The directory of a key where it is there. */
  peek(kind: string, key: string): Promise<string | null>;
  /** Removes what can be made of artifacts again, the longest unused first, until it fits. */
  gc(maxBytes: number, dryRun?: boolean): Promise<FormReport>;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

/**
 * Cached directories below `directory`, such as an architecture's exported graph or prepared data.
 * Two processes that want the same make it once: the second waits up to `wait_ms`.
 */
export function openFolderCache(
  directory: string,
  { wait_ms = 15 * 60_000 }: { wait_ms?: number } = {},
): FolderCache {
  const root = resolve(directory);
  const paths = cachePaths(root);
  const place = (kind: string, key: string): string =>
    join(root, pathComponent(kind), pathComponent(key));

  /** Whether a key's directory is there; from now on this process uses it, there or to be made. */
  const claim = async (kind: string, key: string): Promise<boolean> => {
    const home = place(kind, key);
    await Deno.mkdir(paths.leases, { recursive: true });
    using _lock = await acquireLock(paths.lock, {
      what: "the cache of forms",
      wait_ms: 60_000,
      guard: root,
    });
    const label = leaseLabel(pathComponent(kind), pathComponent(key));
    await Deno.writeTextFile(join(paths.leases, ownedName(label)), "");
    if (!await isDirectory(home)) return false;
    const now = new Date();
    await Deno.utime(home, now, now);
    return true;
  };

  return {
    root,
    gc: (maxBytes, dryRun) => collectForms(paths, maxBytes, dryRun),
    async peek(kind, key) {
      const home = place(kind, key);
      return await isDirectory(home) ? home : null;
    },
    async scratch() {
      const directory = join(paths.temporary, ownedName(crypto.randomUUID()));
      await Deno.mkdir(directory, { recursive: true });
      return { directory, [Symbol.asyncDispose]: () => remove(directory) };
    },
    async cached(kind, key, make) {
      const home = place(kind, key);
      if (await claim(kind, key)) return { directory: home, made: false };
      const { temporary } = paths;
      const locks = join(root, ".locks");
      for (const path of [join(root, pathComponent(kind)), temporary, locks]) {
        await Deno.mkdir(path, { recursive: true });
      }
      const name = `${pathComponent(kind)}-${pathComponent(key)}`;
      using _lock = await acquireLock(join(locks, name), {
        what: `cached ${kind} ${key}`,
        wait_ms,
      });
      if (await isDirectory(home)) return { directory: home, made: false };
      await clearDead(temporary);
      const filling = join(temporary, ownedName(crypto.randomUUID()));
      await Deno.mkdir(filling);
      try {
        await make(filling);
        await putFolder(filling, home); // for ever what it holds: also after a power cut it is whole
      } catch (error) {
        await remove(filling);
        throw error;
      }
      return { directory: home, made: true };
    },
  };
}
