import { execa } from "execa";
import { closeSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { createLineSplitter } from "./line_splitter.ts";
import { adoptGroup, endGroup, reapGroup } from "./process_group.ts";
import { makeWorkerFolder, removeWorkerFolder } from "./worker_folder.ts";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it never ran, where it could not be started. */
  readonly not_started?: string;
}

/**
 * One Python process: a group of its own, events on stdout, logs in a file, a temporary folder that
 * goes with it.
 */
export interface WorkerProcess {
  readonly pid: number;
  readonly log_path: string;
  readonly exited: Promise<Exit>;
  readonly running: boolean;
  /** Takes every line from now on; lines that came before are given first. */
  listen(listener: { line(text: string): void; overflow(bytes: number): void }): void;
  send(line: string): void;
  /** Closes its stdin: it gets nothing more. */
  finish(): void;
  /** Writes every thread's Python stack to the log: where does a stalled worker stand. */
  dumpStacks(): void;
  /** SIGTERM, then SIGKILL, to the whole group; settles when it is gone. */
  end(): Promise<void>;
}

export interface SpawnOptions {
  readonly python: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log_path: string;
}

/** Starts a Python process; throws an Error where the interpreter cannot be started. */
export function spawnWorker({ python, args, cwd, env, log_path }: SpawnOptions): WorkerProcess {
  mkdirSync(dirname(log_path), { recursive: true });
  const folder = makeWorkerFolder();
  const child = execa(python, [...args], {
    cwd,
    env: { TMPDIR: folder, ...env },
    detached: true, // a group of its own: killing it takes the grandchildren along
    cleanup: false,
    buffer: false,
    reject: false,
    stripFinalNewline: false,
    stdin: "pipe",
    stdout: "pipe",
    stderr: { file: log_path },
  });
  // Without a pid the start failed: the exit tells why, and there is no group to end.
  const pid = child.pid ?? 0;
  if (pid > 0) adoptGroup(pid);

  // Grandchildren hold the streams open, on which `child` waits: end them with their parent.
  child.nodeChildProcess.once("exit", () => reapGroup(pid));
  const exited = child.then(({ exitCode, signal, originalMessage }): Exit => ({
    code: exitCode ?? null,
    signal: signal ?? null,
    ...(exitCode === undefined && signal === undefined
      ? { not_started: originalMessage ?? "no reason was given" }
      : {}),
  }));
  return workerOver({ pid, log_path, folder, exited, input: child.stdin, output: child.stdout });
}

/** A process that runs, with its streams. */
interface Running {
  readonly pid: number;
  readonly log_path: string;
  /** Removed with it. */
  readonly folder: string;
  /** Settles when it has ended and all that it wrote was read. */
  readonly exited: Promise<Exit>;
  readonly input: Writable;
  readonly output: Readable;
}

/** A process as a worker, whoever started it. */
export function workerOver(
  { pid, log_path, folder, input, output, ...how }: Running,
): WorkerProcess {
  const early: string[] = [];
  let listener: Parameters<WorkerProcess["listen"]>[0] | undefined;
  let running = pid > 0;
  const splitter = createLineSplitter({
    onLine: (line) => listener === undefined ? early.push(line) : listener.line(line),
    onOverflow: (bytes) => listener?.overflow(bytes),
  });
  output.on("data", (chunk: Uint8Array) => splitter.push(chunk));
  input.on("error", () => {}); // a worker that died: its exit is the message
  const exited = how.exited.then((exit) => {
    running = false;
    splitter.end();
    removeWorkerFolder(folder);
    return exit;
  });
  return {
    pid,
    log_path,
    exited,
    get running() {
      return running;
    },
    listen(next) {
      listener = next;
      for (const line of early.splice(0)) next.line(line);
    },
    send: (line) => void input.write(line),
    finish: () => void input.end(),
    dumpStacks() {
      if (!running) return;
      try {
        process.kill(pid, "SIGUSR1");
      } catch {
        // It has just ended.
      }
    },
    end: () => running ? endGroup(pid, exited) : Promise.resolve(),
  };
}

/** A bar as libraries draw it, over and over in one line: `Loading weights:  50%|█████     | 10/20`. */
const BAR = /\d%\|/;

/** The last lines of a log, at most 4 KB, but for bars of progress; empty where there are none. */
export function logTail(path: string, lines = 8): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    const size = statSync(path).size;
    const buffer = new Uint8Array(Math.min(4096, size));
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
    const text = new TextDecoder().decode(buffer);
    const said = text.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !BAR.test(line));
    return said.slice(-lines).join("\n");
  } finally {
    closeSync(file);
  }
}
