import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sendSignal } from "../../../python-backends/child/process_group.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";

/** The variable by which all that an attempt starts is found, in whichever group or session it is. */
export const MARKER = "PARE_ATTEMPT";

/** Processes of this machine, but for this one. */
function otherProcesses(): number[] {
  try {
    const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return names.map(Number).filter((pid) => pid !== Deno.pid);
  } catch {
    return []; // no system with /proc: there a group's end is all that is known
  }
}

/** Those that have a word among those of a file of /proc. */
function processesWith(file: "environ" | "cmdline", word: string): number[] {
  return otherProcesses().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0").includes(word);
    } catch {
      return false; // ended meanwhile, or another user's
    }
  });
}

/** Null: it has ended. */
function sessionOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? null : session ?? null;
  } catch {
    return null;
  }
}

/**
 * Processes of this machine that a start of an attempt left: by its token, and those of their sessions,
 * which a program began that was started without variables. A session is of one start alone, as what
 * `startChild` starts leads its own.
 */
export function remains(token: string): number[] {
  const found = processesWith("environ", `${MARKER}=${token}`);
  if (found.length === 0) return [];
  const sessions = new Set(found.map(sessionOf));
  for (const none of [null, "0", sessionOf(Deno.pid)]) sessions.delete(none);
  const beside = otherProcesses().filter((pid) => sessions.has(sessionOf(pid)));
  return [...new Set([...found, ...beside])];
}

/** Whether a wrapper was started for a folder, be it that it has not taken the lease yet. */
export function hasWrapper(folder: string): boolean {
  return processesWith("cmdline", folder).length > 0;
}

/** Kills them, and what they start meanwhile; settles when none is left, or none heeds it. */
export async function endRemains(token: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const left = remains(token);
    if (left.length === 0) return;
    for (const pid of left) sendSignal(pid, "SIGKILL");
    await delay(20);
  }
}

/** Milliseconds in which it must end. */
const BEYOND_MS = 60_000;

/** Ends what runs beyond an attempt's processes; what has gone already is no error. */
export async function endBeyond(after: readonly string[] | undefined): Promise<void> {
  if (after === undefined || after.length === 0) return;
  // Not by a library: every wrapper would load it before it begins, for the few that have an `after`.
  const child = startChild({ argv: after, log: "/dev/null", append: true, output: "log" });
  const timer = setTimeout(() => child.kill(), BEYOND_MS);
  await child.exited;
  clearTimeout(timer);
}
