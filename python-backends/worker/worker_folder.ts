import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../core/mod.ts";

const DAY_MS = 86_400_000;

/** Temporary folders that must not outlive this process. */
const live = new Set<string>();

// Not Node's "exit", which Deno.exit() skips.
globalThis.addEventListener("unload", () => {
  for (const folder of live) removeFolder(folder);
});

/**
 * Makes a worker's temporary folder. Libraries clear theirs at exit, and a worker ends without
 * that: killed, or since their handlers may hang.
 */
export function makeWorkerFolder(): string {
  // Not in PARE_HOME: the path of a socket in it may have 107 characters at most.
  const folder = madeIn(tmpdir());
  live.add(folder);
  return folder;
}

function madeIn(parent: string): string {
  try {
    return mkdtempSync(join(parent, `pare-worker-${process.pid}-`));
  } catch (error) {
    throw new UsageError(
      `Cannot make a worker's folder in ${parent}, where temporary files go: ` +
        `${(error as Error).message}; set TMPDIR to a folder that you may write to`,
    );
  }
}

/** Removes a worker's temporary folder; its processes must be gone. */
export function removeWorkerFolder(folder: string): void {
  live.delete(folder);
  removeFolder(folder);
}

function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A process that is just dying wrote into it: the next client removes it.
  }
}

/** Removes folders of workers whose core was killed, and that nobody used for a day. */
export function forgetOldFolders(): void {
  const parent = tmpdir();
  for (const name of namesIn(parent)) {
    const pid = /^pare-worker-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const folder = join(parent, name);
    // A core in another container is not seen from here: its folder is young or somebody else's.
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined || found.uid !== process.getuid?.()) continue;
    if (found.mtimeMs < Date.now() - DAY_MS) removeFolder(folder);
  }
}

/** Where nobody may look, or nothing is, a worker says so as its folder is made. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whether a process of that number is there, whoever's it is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
