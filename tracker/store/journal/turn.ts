import { UsageError } from "../../../core/mod.ts";
import { flockOwner, named } from "../../../python-backends/file_lock.ts";

/** How long one waits for another who appends a record: they need some milliseconds. */
const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 16;

function refusal(path: string): UsageError {
  const owner = flockOwner(path);
  const who = owner === null ? "another process" : named(owner);
  return new UsageError(
    `Cannot append to ${path} as ${who} has been appending to it for ${PATIENCE_MS / 1000} s; ` +
      "end that process, or let it go on",
  );
}

function* pauses(path: string): Generator<number> {
  const until = performance.now() + PATIENCE_MS;
  for (let pause = 1;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (performance.now() >= until) throw refusal(path);
    yield pause;
  }
}

const given = (file: Deno.FsFile): Disposable => ({ [Symbol.dispose]: () => file.unlockSync() });

/** Waits for the turn to append to a journal: nobody else does until it is given back. */
export async function awaitTurn(path: string, file: Deno.FsFile): Promise<Disposable> {
  const pausing = pauses(path);
  while (!file.tryLockSync(true)) {
    await new Promise((resolve) => setTimeout(resolve, pausing.next().value));
  }
  return given(file);
}

/** The same for whoever cannot await it. */
export function takeTurn(path: string, file: Deno.FsFile): Disposable {
  const pausing = pauses(path);
  const clock = new Int32Array(new SharedArrayBuffer(4));
  while (!file.tryLockSync(true)) Atomics.wait(clock, 0, 0, pausing.next().value as number);
  return given(file);
}
