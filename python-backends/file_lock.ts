import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Runs `work` while holding a lock file; the kernel frees it when its holder dies. */
export async function withFileLock<T>(
  path: string,
  { onWait = () => {}, signal }: { onWait?: () => void; signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(path), { recursive: true });
  using file = await Deno.open(path, { create: true, write: true });
  if (!await file.tryLock(true)) {
    onWait();
    // Asked for again and again: a blocking lock could not be cancelled.
    while (!await file.tryLock(true)) {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  try {
    return await work();
  } finally {
    await file.unlock();
  }
}
