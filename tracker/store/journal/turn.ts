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

const given = (file: Deno.FsFile): Disposable => ({ [Symbol.dispose]: () => file.unlockSync() });

/** The turn to append to a journal, where nobody has it at the moment; null: somebody does. */
export function tryTurn(file: Deno.FsFile): Disposable | null {
  return file.tryLockSync(true) ? given(file) : null;
}

/** Waits for the turn to append to a journal: nobody else does until it is given back. */
export async function awaitTurn(path: string, file: Deno.FsFile): Promise<Disposable> {
  const until = performance.now() + PATIENCE_MS;
  for (let pause = 1;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const turn = tryTurn(file);
    if (turn !== null) return turn;
    if (performance.now() >= until) throw refusal(path);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
