/**
 * A part of a run in a process group of its own, with what it prints in a file: neither a test that hangs
 * nor a server that a test left behind, which holds the pipe that it was given, holds up the run.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, startChild } from "../../python-backends/child/start_child.ts";

export interface Printed {
  readonly output: string;
  readonly failed: boolean;
  /** It did not end within its limit, and was ended. */
  readonly late: boolean;
}

const running = new Set<Child>();
let over = false;

/** Runs a program for at most `seconds`; then it and all of its group end. */
export async function inGroup(
  argv: readonly string[],
  { seconds, ...options }: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly seconds: number;
  },
): Promise<Printed> {
  if (over) return { output: "", failed: true, late: false };
  const folder = await mkdtemp(join(tmpdir(), "printed-"));
  const log = join(folder, "printed.txt");
  const child = startChild({ argv, log, output: "log", ...options });
  child.input.end();
  running.add(child);
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    void child.end();
  }, Math.min(1000 * seconds, 2 ** 31 - 1));
  try {
    const { code, not_started = "" } = await child.exited;
    const output = `${await readFile(log, "utf8")}${not_started}`;
    return { output, failed: code !== 0, late };
  } finally {
    clearTimeout(limit);
    running.delete(child);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Ends all that runs, and lets nothing begin: this process is to end, and its temporary folder goes. */
export async function endAll(): Promise<void> {
  over = true;
  await Promise.all([...running].map((child) => child.end()));
}
