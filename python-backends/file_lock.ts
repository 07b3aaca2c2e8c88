import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

interface LockOptions {
  onWait?: () => void;
  signal?: AbortSignal | undefined;
  /** A directory that is locked too: with it a removed lock file lets no second one in. */
  guard?: string;
}

/** Locks a file; null where another has it, or where it was removed since it was opened. */
async function tryFile(path: string): Promise<Deno.FsFile | null> {
  const file = await Deno.open(path, { create: true, write: true });
  try {
    if (await file.tryLock(true)) {
      const [own, there] = [await file.stat(), await Deno.stat(path)];
      if (own.ino === there.ino && own.dev === there.dev) return file;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      file.close();
      throw error;
    }
  }
  file.close();
  return null;
}

/** Locks a directory; null where another has it. What cannot be locked guards nothing. */
async function tryDirectory(path: string): Promise<Disposable | null> {
  const directory = await Deno.open(path, { read: true });
  try {
    if (await directory.tryLock(true)) return directory;
  } catch {
    return directory; // a file system that locks no directory
  }
  directory.close();
  return null;
}

async function tryBoth(path: string, guard: string | undefined): Promise<Disposable | null> {
  const file = await tryFile(path);
  if (file === null || guard === undefined) return file;
  const guarding = await tryDirectory(guard);
  if (guarding === null) {
    file.close();
    return null;
  }
  return {
    [Symbol.dispose]() {
      file.close();
      guarding[Symbol.dispose]();
    },
  };
}

/** Runs `work` while holding a lock file; the kernel frees it when its holder dies. */
export async function withFileLock<T>(
  path: string,
  { onWait = () => {}, signal, guard }: LockOptions,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  let lock = await tryBoth(path, guard);
  if (lock === null) onWait();
  // Asked for again and again: a blocking lock could not be cancelled.
  while (lock === null) {
    signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 100));
    lock = await tryBoth(path, guard);
  }
  using _held = lock;
  return await work();
}
