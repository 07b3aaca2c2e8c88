import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncBelow, syncFolder } from "../../../python-backends/whole_file.ts";
import { isRunning } from "../../../python-backends/worker/worker_folder.ts";

/** Where a folder is written before it has its name; what a killed process left beside it goes. */
export function partialOf(directory: string): string {
  const folder = dirname(directory);
  const left = new RegExp(`^${RegExp.escape(basename(directory))}\\.(partial|old)-(\\d+)$`);
  const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
  for (const entry of there ? readdirSync(folder) : []) {
    const [, what, pid] = left.exec(entry) ?? [];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const path = join(folder, entry);
    // Killed between two names: the earlier folder has its own again.
    if (what === "old" && !existsSync(directory)) renameSync(path, directory);
    else rmSync(path, { recursive: true, force: true });
  }
  return `${directory}.partial-${Deno.pid}`;
}

/** Gives a folder that is whole its name, so that after a power cut it is there whole or not at all. */
export async function putFolder(partial: string, directory: string): Promise<void> {
  await syncBelow(partial);
  const old = `${directory}.old-${Deno.pid}`;
  const replaced = existsSync(directory) && readdirSync(directory).length > 0;
  if (replaced) renameSync(directory, old);
  try {
    renameSync(partial, directory);
  } catch (error) {
    if (replaced) renameSync(old, directory);
    throw error;
  }
  syncFolder(dirname(directory));
  rmSync(old, { recursive: true, force: true });
}
