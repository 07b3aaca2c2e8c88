import { readdirSync } from "node:fs";
import { hasOpen } from "../../../python-backends/file_lock.ts";
import { processCommand } from "../../../python-backends/process_owner.ts";

/** A process that has a file open. */
export interface Holder {
  pid: number;
  command: string;
}

/**
 * Other processes of this user that have a file open, also for reading only, which no lock error
 * ever names. Empty where the system has no /proc.
 */
export function holdersOf(path: string): Holder[] {
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return [];
  }
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
    .filter((pid) => pid !== Deno.pid && hasOpen(pid, path))
    .map((pid) => ({ pid, command: processCommand(pid) }));
}
