/**
 * The one way to keep a child process. It leads a process group that is killed whole. Its standard
 * input stays open as long as this process lives: a child that sees it end has lost its parent, and
 * ends itself and its group (`pare_backends/supervised.py`).
 */
// Not execa, which programs that run to their end go by: Deno's workers, where queries are asked, cannot load it.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { adoptGroup, endGroup, reapGroup, sendSignal, signalGroup } from "./process_group.ts";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it never ran, where it could not be started. */
  readonly not_started?: string;
}

export interface ChildOptions {
  /** The program and its words; no shell reads them. */
  readonly argv: readonly string[];
  readonly cwd?: string;
  /** Variables besides this process's own. They are written to no file. */
  readonly env?: Readonly<Record<string, string>>;
  /** A file for its standard error; without one its last words are kept in memory. */
  readonly log?: string;
  /** Whether the log goes on behind what it holds; else it begins anew. */
  readonly append?: boolean;
  /** Where its standard output goes: to this process, or into the log as well. */
  readonly output?: "pipe" | "log";
  /**
   * Whether it ends by itself, in good order, once this process is gone, as an attempt's wrapper does
   * does; else it is killed as this process exits.
   */
  readonly ends_itself?: boolean;
}

/** A process that this one keeps. */
export interface Child {
  /** 0: it could not be started. */
  readonly pid: number;
  readonly input: Writable;
  /** Null: it goes into the log. */
  readonly output: Readable | null;
  /** Settles when it has ended and all that it wrote was read; what it left of its group is gone then. */
  readonly exited: Promise<Exit>;
  readonly running: boolean;
  /** The end of what it said on standard error, where no log keeps that. */
  readonly last_words: string;
  /** Sends a signal to it alone, not to its group. */
  signal(name: Deno.Signal): void;
  /** Kills its group at once. */
  kill(): void;
  /** SIGTERM, and SIGKILL after the grace, to its group; settles when it is gone. */
  end(grace_ms?: number): Promise<void>;
  /** Lets this process end while the child waits for its next request. */
  unref(): void;
}

const LAST_WORDS = 4_000;

/** Starts a child. Never throws for a program that is not there: its exit says why. */
export function startChild(options: ChildOptions): Child {
  const { argv: [program = "", ...words], ends_itself = false } = options;
  const child = spawnChild(program, words, options);
  const pid = child.pid ?? 0;
  const ending = endOf(child);
  let running = pid > 0;
  let last_words = "";
  if (running && !ends_itself) adoptGroup(pid);
  child.stdin!.on("error", () => {}); // one that has ended: its exit is the message
  const decoder = new TextDecoder();
  child.stderr?.on("data", (chunk: Uint8Array) => {
    last_words = (last_words + decoder.decode(chunk, { stream: true })).slice(-LAST_WORDS);
  });
  // Grandchildren hold the streams open, on whose end `exited` waits: they go with their parent.
  if (running) child.once("exit", () => reapGroup(pid));
  const exited = ending.then((exit) => {
    running = false;
    return exit;
  });
  return {
    pid,
    input: child.stdin!, // a pipe, as its output
    output: child.stdout,
    exited,
    get running() {
      return running;
    },
    get last_words() {
      return last_words;
    },
    signal(name) {
      if (running) sendSignal(pid, name);
    },
    kill() {
      if (running) signalGroup(pid, "SIGKILL");
    },
    end: (grace_ms) => running ? endGroup(pid, exited, grace_ms) : Promise.resolve(),
    unref: () => unref(child),
  };
}

function spawnChild(
  program: string,
  words: readonly string[],
  { cwd, env = {}, log, append = false, output = "pipe" }: ChildOptions,
): ChildProcess {
  if (log !== undefined) mkdirSync(dirname(log), { recursive: true });
  // The child's own from its start: what it writes after this process's death is kept, too.
  const file = log === undefined ? "pipe" : openSync(log, append ? "a" : "w");
  try {
    return spawn(program, [...words], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...Deno.env.toObject(), ...env },
      detached: true, // a group of its own: killing it takes the grandchildren along
      stdio: ["pipe", output === "log" ? file : "pipe", file],
    });
  } finally {
    if (typeof file === "number") closeSync(file);
  }
}

function endOf(child: ChildProcess): Promise<Exit> {
  const { promise, resolve } = Promise.withResolvers<Exit>();
  child.once("error", ({ message }) => resolve({ code: null, signal: null, not_started: message }));
  child.once("close", (code, signal) => resolve({ code, signal }));
  return promise;
}

function unref(child: ChildProcess): void {
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    (pipe as { unref?(): void } | null)?.unref?.(); // a socket, of which Node's types know nothing here
  }
}
