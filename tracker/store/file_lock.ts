import { readFileSync } from "node:fs";
import { UsageError } from "../../core/mod.ts";

/** Who holds a lock: what a sentence to the user needs. */
export interface LockOwner {
  pid: number;
  /** Ticks after boot at which the process started: tells a reused pid from the owner. */
  start: string;
  command: string;
}

export interface FileLock {
  readonly path: string;
  /** The owner that died without giving the lock back, or null. */
  readonly took_over: LockOwner | null;
  release(): void;
  [Symbol.dispose](): void;
}

/** The moment a process started, from the kernel; null where it is gone or unknown. */
export function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/** A process's command line, for messages; empty where it cannot be read. */
export function processCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim().slice(0, 200);
  } catch {
    return "";
  }
}

/** True where a process of this pid runs that started at that moment. */
export function isAlive(owner: Pick<LockOwner, "pid" | "start">): boolean {
  const start = processStart(owner.pid);
  return start !== null && (owner.start === "" || start === owner.start);
}

/** This process as a lock's owner. */
export function thisProcess(): LockOwner {
  const command = processCommand(Deno.pid);
  return { pid: Deno.pid, start: processStart(Deno.pid) ?? "", command };
}

function parseOwner(text: string): LockOwner | null {
  try {
    const { pid, start, command } = JSON.parse(text) as Partial<LockOwner>; // checked below
    return typeof pid === "number"
      ? { pid, start: String(start ?? ""), command: String(command ?? "") }
      : null;
  } catch {
    return null;
  }
}

/** The live owner named in a lock file; null where nobody holds it. */
export function lockOwner(path: string): LockOwner | null {
  try {
    const owner = parseOwner(Deno.readTextFileSync(path));
    return owner !== null && isAlive(owner) ? owner : null;
  } catch {
    return null;
  }
}

/**
 * Takes the lock at once, or gives null where another has it. The kernel holds the lock (flock), so
 * that a killed owner's is free in the same moment; the owner's pid and start time stand in the file.
 */
export function tryLock(path: string): FileLock | null {
  const file = Deno.openSync(path, { read: true, write: true, create: true });
  try {
    if (!file.tryLockSync(true)) {
      file.close();
      return null;
    }
    const previous = parseOwner(readAll(file));
    file.truncateSync(0);
    file.seekSync(0, Deno.SeekMode.Start);
    file.writeSync(new TextEncoder().encode(JSON.stringify(thisProcess())));
    return heldLock(path, file, previous);
  } catch (error) {
    file.close();
    throw error;
  }
}

function readAll(file: Deno.FsFile): string {
  const bytes = new Uint8Array(4096);
  const read = file.readSync(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, read));
}

function heldLock(path: string, file: Deno.FsFile, took_over: LockOwner | null): FileLock {
  let held = true;
  const release = (): void => {
    if (!held) return;
    held = false;
    // The file stays: removing it would let a waiter lock a name that is already another file.
    try {
      file.truncateSync(0);
    } finally {
      file.close();
    }
  };
  return { path, took_over, release, [Symbol.dispose]: release };
}

/** Takes the lock, waiting up to `wait_ms` for its owner. */
export async function acquireLock(
  path: string,
  { what, wait_ms = 0 }: { what: string; wait_ms?: number },
): Promise<FileLock> {
  const until = performance.now() + wait_ms;
  for (let pause = 2;; pause = Math.min(pause * 2, 100)) {
    const lock = tryLock(path);
    if (lock !== null) return lock;
    if (performance.now() >= until) {
      const owner = lockOwner(path);
      const who = owner === null ? "another process" : `process ${owner.pid} (${owner.command})`;
      throw new UsageError(
        `Cannot open ${what} for writing as ${who} has it; wait for that process or stop it. Lock: ${path}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
