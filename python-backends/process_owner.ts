import { readFileSync } from "node:fs";

/** Who holds a lock: what a sentence to the user needs. */
export interface LockOwner {
  pid: number;
  /** Ticks after boot at which the process started: tells a reused pid from the owner. */
  start: string;
  command: string;
  /** Since when it has the lock, ISO 8601; empty where it did not say. */
  since: string;
  /** The machine that it runs on, of those that share the folder; empty: this one. */
  host: string;
}

/**
 * The moment a process started, from the kernel; null where it is gone or unknown. One that has ended
 * and waits for its parent to ask how is gone: it may wait for ever.
 */
export function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...more] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? null : more[18] ?? null;
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
  const since = new Date().toISOString();
  return {
    pid: Deno.pid,
    start: processStart(Deno.pid) ?? "",
    command,
    since,
    host: Deno.hostname(),
  };
}
