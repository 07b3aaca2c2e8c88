/** Groups that must not outlive this process, however it ends. */
const live = new Set<number>();

/**
 * Sends a signal to a process; one that has gone is left. Not by a child's own `kill`: with Deno, whoever
 * was sent a signal by it is said to have ended by that signal.
 */
export function sendSignal(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch {
    // gone
  }
}

/** Sends a signal to every process of a group. */
export function signalGroup(pid: number, signal: Deno.Signal): void {
  sendSignal(-pid, signal);
}

// Not Node's "exit", which Deno.exit() skips. SIGKILL of this process, or an error that nobody catches,
// runs no handler: then the child sees its stdin close and ends itself.
globalThis.addEventListener("unload", () => {
  for (const pid of live) signalGroup(pid, "SIGKILL");
});

/** Marks a process group as ours: killed when this process exits. */
export function adoptGroup(pid: number): void {
  live.add(pid);
}

/** Kills what is left of a group whose leader has ended, and forgets it. */
export function reapGroup(pid: number): void {
  live.delete(pid);
  signalGroup(pid, "SIGKILL");
}

/** Ends a group: SIGTERM, and SIGKILL where `exited` has not settled in time. */
export async function endGroup(
  pid: number,
  exited: Promise<unknown>,
  graceMs = 3000,
): Promise<void> {
  signalGroup(pid, "SIGTERM");
  const timer = setTimeout(() => signalGroup(pid, "SIGKILL"), graceMs);
  await exited;
  clearTimeout(timer);
}
