/** A process that reads damaged files one after the other, and what became of each. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";

/** How reading one input ended. */
export interface Ended {
  /** `fault`: an error that nothing expects, so that a user would be shown a stack. */
  readonly ended: "result" | "sentence" | "fault";
  readonly said: string;
}

const MOST_SECONDS = 5;
/** In which it neither computes nor wants to: a machine that does other things beside counts for none. */
const MOST_WAITED_SECONDS = 10;
const LOOK_SECONDS = 0.1;
const MOST_BYTES = 1e9;
const TICKS = 100; // a second's, of Linux

/** Seconds of the processor that a process has had. */
function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return 0; // it has ended, which its stream says
  }
}

/** Whether a process would compute if the machine let it. */
function isReady(pid: number): boolean {
  try {
    return /^R/.test(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, ""));
  } catch {
    return true; // as above
  }
}

/** The most memory that a process has held since it was last asked to forget it, bytes. */
function peakBytes(pid: number): number {
  const [, kilobytes = "0"] =
    /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Reads at most 5 s and with 1 GB each; one that needs more, or dies of it, is killed and started anew. */
export class Reading implements AsyncDisposable {
  #child: ChildProcess | undefined;
  #lines: AsyncIterator<string> | undefined;
  #reader: Interface | undefined;
  readonly #words: readonly string[];
  readonly #options: { cwd: string; env: Record<string, string> };

  constructor(words: readonly string[], options: { cwd: string; env: Record<string, string> }) {
    this.#words = words;
    this.#options = options;
  }

  async #start(): Promise<ChildProcess> {
    const [program, ...args] = this.#words;
    const child = spawn(program!, args, { ...this.#options, stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    this.#reader = createInterface({ input: child.stdout! });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    const { value } = await this.#lines.next();
    if (value !== "ready") throw new Error(`the reader of doors did not start: ${value}`);
    return child;
  }

  /** What became of an input; throws where it took more than it may, or took the process along. */
  async read(door: string, path: string): Promise<Ended> {
    const child = this.#child ?? await this.#start();
    const pid = child.pid!;
    writeFileSync(`/proc/${pid}/clear_refs`, "5"); // forget the peak
    const [cpu, held] = [cpuSeconds(pid), peakBytes(pid)];
    child.stdin!.write(`${JSON.stringify({ door, path })}\n`);
    const answer = this.#lines!.next();
    const watch = Promise.withResolvers<string>();
    let [waited, before] = [0, 0];
    const timer = setInterval(() => {
      const used = cpuSeconds(pid) - cpu;
      if (used === before && !isReady(pid)) waited += LOOK_SECONDS;
      before = used;
      if (used > MOST_SECONDS) watch.resolve(`it reads for ${used.toFixed(1)} s`);
      else if (waited > MOST_WAITED_SECONDS) watch.resolve(`it waits for ${waited.toFixed(0)} s`);
    }, 1000 * LOOK_SECONDS);
    const told = await Promise.race([answer, watch.promise]);
    clearInterval(timer);
    if (typeof told === "string") throw await this.#gone(told);
    if (told.done) throw await this.#gone("its process ended");
    const more = peakBytes(pid) - held;
    if (more > MOST_BYTES) throw await this.#gone(`it took ${(more / 1e9).toFixed(1)} GB`);
    return JSON.parse(told.value);
  }

  async #gone(why: string): Promise<Error> {
    await this[Symbol.asyncDispose]();
    return new Error(why);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.#reader?.close();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}
