import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { createLineSplitter } from "../child/line_splitter.ts";
import { endGroup } from "../child/process_group.ts";
import { type Exit, startChild } from "../child/start_child.ts";
import { makeWorkerFolder, removeWorkerFolder } from "./worker_folder.ts";

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

/** Starts a Python process; where the interpreter cannot be started its exit says why. */
export function spawnWorker({ python, args, cwd, env, log_path }: SpawnOptions): WorkerProcess {
  const folder = makeWorkerFolder();
  const child = startChild({
    ...{ argv: [python, ...args], cwd, env: { TMPDIR: folder, ...env }, log: log_path },
  });
  const { pid, exited, input, output } = child;
  return workerOver({ pid, log_path, folder, exited, input, output: output! }); // a pipe
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
