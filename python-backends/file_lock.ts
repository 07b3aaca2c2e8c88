import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "../core/mod.ts";
import {
  isAlive,
  type LockOwner,
  processCommand,
  processStart,
  thisProcess,
} from "./process_owner.ts";
import { writeAll } from "./whole_file.ts";

export interface FileLock {
  readonly path: string;
  /** The owner that died without giving the lock back, or null. */
  readonly took_over: LockOwner | null;
  /** Makes the file again where somebody removed it, so that it names the owner. */
  restore(): void;
  release(): void;
  [Symbol.dispose](): void;
}

function parseOwner(text: string): LockOwner | null {
  try {
    const { pid, start, command, since, host } = JSON.parse(text) as Partial<LockOwner>; // checked below
    if (typeof pid !== "number") return null;
    const [a, b, c, d] = [start, command, since, host].map((one) => String(one ?? ""));
    return { pid, start: a!, command: b!, since: c!, host: d === Deno.hostname() ? "" : d! };
  } catch {
    return null;
  }
}

/** Whether anybody holds the kernel's lock on a file: what another machine's processes do tells this alone. */
function isLocked(path: string): boolean {
  using file = Deno.openSync(path, { read: true });
  return !file.tryLockSync(false);
}

/** The live owner named in a lock file; null where nobody holds it. */
export function lockOwner(path: string): LockOwner | null {
  try {
    const owner = parseOwner(Deno.readTextFileSync(path));
    if (owner === null) return null;
    return (owner.host === "" ? isAlive(owner) : isLocked(path)) ? owner : null;
  } catch {
    return null;
  }
}

/** A process as a sentence names it. */
export function named({ pid, command, since, host }: LockOwner): string {
  const where = host === "" ? "" : ` on ${host}`;
  const when = since === "" ? "" : `, since ${since.slice(0, 19).replace("T", " ")} UTC`;
  return `process ${pid}${command === "" ? "" : ` (${command})`}${where}${when}`;
}

/** Whether a path still names an open file: whoever removed or replaced it has another one. */
export function isStill(path: string, file: Deno.FsFile): boolean {
  try {
    const [own, there] = [file.statSync(), Deno.statSync(path)];
    return own.ino === there.ino && own.dev === there.dev;
  } catch {
    return false;
  }
}

/** Locks what a lock is for, beside the lock's file: nobody removes that by mistake. */
function tryGuard(guard: string | undefined): Deno.FsFile | null | false {
  if (guard === undefined) return null;
  const file = Deno.openSync(guard, { read: true });
  try {
    if (file.tryLockSync(true)) return file;
    file.close();
    return false;
  } catch {
    file.close(); // a file system that locks no directory
    return null;
  }
}

/**
 * Takes the lock at once, or gives null where another has it. The kernel holds the lock (flock), so
 * that a killed owner's is free in the same moment; the owner's pid and start time stand in the file.
 * `guard` is a directory that is locked too: with it a removed file lets no second owner in.
 */
export function tryLock(path: string, guard?: string): FileLock | null {
  const file = Deno.openSync(path, { read: true, write: true, create: true });
  let guarding: Deno.FsFile | null | false = null;
  try {
    // Removed since it was opened: the lock would be on a file that nobody else can find.
    const taken = file.tryLockSync(true) && isStill(path, file);
    guarding = taken ? tryGuard(guard) : false;
    if (guarding === false) {
      file.close();
      return null;
    }
    const previous = parseOwner(readAll(file));
    writeOwner(file);
    return heldLock(path, file, { guarding, previous });
  } catch (error) {
    file.close();
    if (guarding) guarding.close();
    throw error;
  }
}

function writeOwner(file: Deno.FsFile): void {
  file.truncateSync(0);
  file.seekSync(0, Deno.SeekMode.Start);
  writeAll(file, new TextEncoder().encode(JSON.stringify(thisProcess())));
}

function readAll(file: Deno.FsFile): string {
  const bytes = new Uint8Array(4096);
  const read = file.readSync(bytes) ?? 0;
  return new TextDecoder().decode(bytes.subarray(0, read));
}

function heldLock(
  path: string,
  first: Deno.FsFile,
  { guarding, previous }: { guarding: Deno.FsFile | null; previous: LockOwner | null },
): FileLock {
  let file = first;
  let held = true;
  const release = (): void => {
    if (!held) return;
    held = false;
    // The file stays: removing it would let a waiter lock a name that is already another file.
    try {
      file.truncateSync(0);
    } finally {
      file.close();
      guarding?.close();
    }
  };
  const restore = (): void => {
    if (!held || isStill(path, file)) return;
    try {
      const again = Deno.openSync(path, { read: true, write: true, create: true });
      if (!again.tryLockSync(true)) return again.close(); // somebody tries it in this moment
      writeOwner(again);
      file.close();
      file = again;
    } catch {
      // Its directory is gone, too: whoever uses what is locked says so.
    }
  };
  return { path, took_over: previous, restore, release, [Symbol.dispose]: release };
}

/** The sentence where another has what is asked for; `owner` null: nobody knows who. */
function lockRefusal(what: string, owner: LockOwner | null): string {
  const who = owner === null ? "another process" : named(owner);
  return `Cannot open ${what} for writing as ${who} has it; wait for that process or stop it`;
}

/** Takes the lock, waiting up to `wait_ms` for its owner; `guard` as for `tryLock`. */
export async function acquireLock(
  path: string,
  { what, wait_ms = 0, guard }: { what: string; wait_ms?: number; guard?: string },
): Promise<FileLock> {
  const until = performance.now() + wait_ms;
  for (let pause = 2;; pause = Math.min(pause * 2, 100)) {
    const lock = tryLock(path, guard);
    if (lock !== null) return lock;
    if (performance.now() >= until) {
      throw new UsageError(lockRefusal(what, lockOwner(path) ?? flockOwner(guard ?? path)));
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Who is told that one waits, and what ends the waiting. */
export interface WaitOptions {
  onWait?: () => void;
  signal?: AbortSignal | undefined;
  /** As for `tryLock`. */
  guard?: string;
}

/** Takes a lock file, however long another has it; its folder is made. */
export async function takeFileLock(
  path: string,
  { onWait = () => {}, signal, guard }: WaitOptions,
): Promise<FileLock> {
  mkdirSync(dirname(path), { recursive: true });
  let lock = tryLock(path, guard);
  if (lock === null) onWait();
  // Asked for again and again: a blocking lock could not be cancelled.
  while (lock === null) {
    signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 100));
    lock = tryLock(path, guard);
  }
  return lock;
}

/** Runs `work` while holding a lock file, however long another has it; its folder is made. */
export async function withFileLock<T>(
  path: string,
  options: WaitOptions,
  work: () => Promise<T>,
): Promise<T> {
  using _held = await takeFileLock(path, options);
  return await work();
}

/**
 * The process that has a file or directory locked, as the kernel says, whatever became of the file
 * that names it; null: nobody, or the system does not say.
 */
export function flockOwner(path: string): LockOwner | null {
  // The kernel lists locks in pieces, between which others come and go: one may be missed once.
  return ownerListed(path) ?? ownerListed(path);
}

function ownerListed(path: string): LockOwner | null {
  try {
    const ino = Deno.statSync(path).ino;
    const lines = readFileSync("/proc/locks", "utf8").split("\n");
    for (const line of lines) {
      const [, kind, , mode, pid, place] = line.split(/\s+/);
      if (kind !== "FLOCK" || mode !== "WRITE" || place?.split(":")[2] !== String(ino)) continue;
      const start = processStart(Number(pid));
      if (start === null || !hasOpen(Number(pid), path)) continue;
      return { pid: Number(pid), start, command: processCommand(Number(pid)), since: "", host: "" };
    }
  } catch {
    // Gone, or no system with /proc.
  }
  return null;
}

/** Whether a process of this user has a file open. */
export function hasOpen(pid: number, path: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => {
      try {
        return readlinkSync(`${folder}/${fd}`) === path;
      } catch {
        return false; // closed meanwhile
      }
    });
  } catch {
    return false; // ended meanwhile, or another user's
  }
}
