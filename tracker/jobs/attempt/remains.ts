import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sendSignal } from "../../../python-backends/child/process_group.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";

/** The variable by which all that an attempt starts is found, in whichever group or session it is. */
export const MARKER = "PARE_ATTEMPT";

/** Processes of this machine, but for this one, that have a word among those of a file of /proc. */
function processesWith(file: "environ" | "cmdline", word: string): number[] {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return []; // no system with /proc: there a group's end is all that is known
  }
  return names.filter((name) => /^\d+$/.test(name) && Number(name) !== Deno.pid).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0").includes(word);
    } catch {
      return false; // ended meanwhile, or another user's
    }
  }).map(Number);
}

/** Processes of this machine that a start of an attempt left, by its token. */
export function remains(token: string): number[] {
  return processesWith("environ", `${MARKER}=${token}`);
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
