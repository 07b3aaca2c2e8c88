import process from "node:process";

/** Groups that must not outlive this process, however it ends. */
const live = new Set<number>();

function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false; // the group is gone
  }
}

// SIGKILL of this process runs no handler: then the worker sees its stdin close and ends itself.
process.on("exit", () => {
  for (const pid of live) signalGroup(pid, "SIGKILL");
});

/** Marks a process group as ours: killed when this process exits. */
export function adoptGroup(pid: number): void {
  live.add(pid);
}

/** Kills what is left of a group whose leader has ended, and forgets it. */
export function reapGroup(pid: number): void {
  if (live.delete(pid)) signalGroup(pid, "SIGKILL");
}

/** Ends a group: SIGTERM, and SIGKILL for what is left when `exited` has not settled in time. */
export async function endGroup(
  pid: number,
  exited: Promise<unknown>,
  graceMs = 3000,
): Promise<void> {
  if (!live.has(pid) || !signalGroup(pid, "SIGTERM")) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([exited, grace]);
  clearTimeout(timer);
  signalGroup(pid, "SIGKILL");
  await exited;
}
