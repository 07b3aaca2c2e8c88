import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "../../../python-backends/whole_file.ts";
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

/** Waits until what a file holds is on disk. */
function syncFile(path: string): void {
  using file = Deno.openSync(path, { read: true });
  file.syncDataSync();
}

/** Waits until all that lies in a folder is on disk: files, and the names of them. */
export function syncBelow(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) syncBelow(path);
    else if (entry.isFile()) syncFile(path);
  }
  syncFolder(folder);
}

/** Gives a folder that is whole its name, so that after a power cut it is there whole or not at all. */
export function putFolder(partial: string, directory: string): void {
  syncBelow(partial);
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
