import { existsSync } from "node:fs";
import process from "node:process";
import { tryLock } from "../file_lock.ts";
import { writeWhole } from "../whole_file.ts";
import { childPaths, type ChildResult, readRequest, TAKEN } from "./child_folder.ts";
import { signalGroup } from "./process_group.ts";

/** How long a child may take to end in good order once its parent is gone. */
const GRACE_MS = 30_000;

/** What a child knows of itself. */
export interface OwnFolder {
  readonly request: unknown;
  /** Writes down what came of it: nothing may follow but its end. */
  finish(result: ChildResult): void;
}

/**
 * Makes this process the child of a folder: the first thing that such a program does. Its lock is held
 * until it ends. A second process of the same folder, and one that comes after the result, ends with
 * code 75. `onOrphaned` ends it in good order when its parent is gone; after the grace the group is
 * killed.
 */
export function beChild(
  folder: string,
  onOrphaned: () => void,
  grace_ms = GRACE_MS,
): OwnFolder {
  const paths = childPaths(folder);
  const lock = tryLock(paths.alive); // never given back: the kernel does so with this process's last breath
  if (lock === null || existsSync(paths.result)) {
    console.error(
      `pare: Cannot begin in ${folder} as another process ${
        lock === null ? "works" : "has worked"
      } for it`,
    );
    Deno.exit(TAKEN);
  }
  void orphaned().then(() => {
    const killGroup = () => signalGroup(process.pid, "SIGKILL");
    globalThis.addEventListener("unload", killGroup); // nobody else does it any more for what it has started
    setTimeout(killGroup, grace_ms);
    onOrphaned();
  });
  return {
    request: readRequest(folder),
    finish: (result) => writeWhole(childPaths(folder).result, result),
  };
}

/** Settles when standard input ends, which a parent holds open while it lives. */
async function orphaned(): Promise<void> {
  const bytes = new Uint8Array(256);
  while (await Deno.stdin.read(bytes).catch(() => null) !== null);
}
