import { readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { AttemptSeen } from "../../../core/jobs/ports.ts";
import { isAlive, type LockOwner, thisProcess } from "../../../python-backends/process_owner.ts";
import {
  makeFolder,
  readWhole,
  syncFolder,
  writeAll,
} from "../../../python-backends/whole_file.ts";
import { attemptPaths, readResult } from "./attempt_folder.ts";
import { remains } from "./remains.ts";

/** The one start of an attempt that runs. */
export interface Lease extends LockOwner {
  /** Of this start: all that it starts has it in its environment. */
  readonly token: string;
  /** One boot of one machine, and which of its processes see each other. */
  readonly machine: string;
}

const RENEWED_MS = 10_000;

/** A lease that did not change for so long while somebody looked is stale. */
export const LEASE_MS = 60_000;

/** Not by a host's name: clones share theirs. */
function thisMachine(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return Deno.hostname();
  }
}

/** Takes an attempt for this process; null: it was taken before, be it that it has ended since. */
export function takeLease(folder: string): Lease | null {
  if (readResult(folder) !== null) return null;
  const lease = { ...thisProcess(), token: crypto.randomUUID(), machine: thisMachine() };
  return writeOnce(attemptPaths(folder).lease, lease) ? lease : null;
}

/** Takes an attempt for nobody, so that no start of it runs; false: somebody has begun it. */
export function closeAttempt(folder: string): boolean {
  makeFolder(folder);
  return writeOnce(attemptPaths(folder).lease, CLOSED) || isClosed(folder);
}

const CLOSED = { closed: true };

/** Whether an attempt was taken for nobody. */
export function isClosed(folder: string): boolean {
  const lease = readWhole<object>(attemptPaths(folder).lease);
  return lease !== null && "closed" in lease;
}

function writeOnce(path: string, lease: object): boolean {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path, { write: true, createNew: true });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
  using _file = file;
  try {
    writeAll(file, new TextEncoder().encode(JSON.stringify(lease)));
    file.syncSync();
  } catch (error) {
    Deno.removeSync(path); // a full disk: whoever tries again finds no half of it
    throw error;
  }
  syncFolder(dirname(path)); // or its name is lost with the power, and another start takes it
  return true;
}

/** Shows that the holder lives, until disposed of. */
export function renewLease(folder: string): Disposable {
  const { lease } = attemptPaths(folder);
  const timer = setInterval(() => {
    try {
      Deno.utimeSync(lease, new Date(), new Date());
    } catch {
      // The disk does not answer: what looks will say for how long.
    }
  }, RENEWED_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Who took an attempt; null: nobody did, or nobody knows who. */
export function readLease(folder: string): Lease | null {
  return isClosed(folder) ? null : readWhole<Lease>(attemptPaths(folder).lease);
}

/** When an attempt's holder last showed that it lives, in milliseconds; null: nobody took it. */
export function leaseRenewed(folder: string): number | null {
  try {
    return statSync(attemptPaths(folder).lease).mtimeMs;
  } catch {
    return null;
  }
}

/** Whether a lease's process or anything that it started lives; null: on another machine, which nobody sees here. */
export function livesHere(lease: Lease): boolean | null {
  if (lease.machine !== thisMachine()) return null;
  return isAlive(lease) || remains(lease.token).length > 0;
}

/**
 * Looks at leases, again and again. What runs on this machine is seen. For another machine no clocks
 * are compared: a lease is stale once it has not changed for LEASE_MS by the looker's own clock, so
 * that one who has just begun to look waits that long.
 */
export function watchLeases(
  now: () => number = () => performance.now(),
): (folder: string) => AttemptSeen["lease"] {
  const seen = new Map<string, { renewed: number; since: number }>();
  return (folder) => {
    const renewed = leaseRenewed(folder);
    if (renewed === null) return "none";
    if (isClosed(folder)) return "closed";
    const lease = readLease(folder);
    const lives = lease === null ? null : livesHere(lease);
    if (lives !== null) return lives ? "fresh" : "stale";
    const before = seen.get(folder);
    if (before?.renewed !== renewed) seen.set(folder, { renewed, since: now() });
    return before?.renewed === renewed && now() - before.since >= LEASE_MS ? "stale" : "fresh";
  };
}
