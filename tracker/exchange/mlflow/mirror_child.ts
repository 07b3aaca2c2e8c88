import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLineSplitter } from "../../../python-backends/child/line_splitter.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";
import { jsonOrNull } from "../../ground/json_or_null.ts";
import { type MirrorAsk, MirrorTold } from "./mirror_words.ts";

/** Memory that the mirror may have. A step holds some 50 MB; a record of 64 MiB some 300. */
export interface MirrorMemory {
  /** MB of JavaScript's heap: V8 ends the process where it would need more. */
  readonly heap_mb: number;
  /** MB of the whole process, looked at now and then where the system tells it. */
  readonly resident_mb: number;
}

const MIRROR_MEMORY: MirrorMemory = { heap_mb: 512, resident_mb: 1_500 };

const LOOK_MS = 500;

/** The process that mirrors. */
export interface MirrorChild {
  readonly pid: number;
  ask(message: MirrorAsk): void;
  /** Ends it; settles when it is gone. */
  stop(): Promise<void>;
}

function wordsFor({ heap_mb }: MirrorMemory): string[] {
  return [
    ...["run", "--quiet", "--no-check", "--no-prompt"],
    ...["--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-sys"],
    `--v8-flags=--max-old-space-size=${heap_mb}`,
    ...["--config", fileURLToPath(new URL("../../../deno.json", import.meta.url))],
    fileURLToPath(new URL("./mirror_process.ts", import.meta.url)),
  ];
}

function residentMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0; // no such system, or it has just ended
  }
}

/** Where memory runs out the system is to end the mirror, not a trial. */
function sacrifice(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // No such system.
  }
}

/**
 * Starts the process: a group of its own, which Ctrl-C does not reach, that ends with this one.
 * `onEnded` has the reason where it ends without being asked to.
 */
export function startMirrorChild({ memory = MIRROR_MEMORY, onTold, onEnded }: {
  memory?: MirrorMemory;
  onTold: (told: MirrorTold) => void;
  onEnded: (reason: string) => void;
}): MirrorChild {
  const child = startChild({
    argv: [Deno.execPath(), ...wordsFor(memory)],
    env: { NO_COLOR: "1" },
  });
  if (child.running) sacrifice(child.pid);
  let stopped = false;
  let too_large = false;
  const splitter = createLineSplitter({
    onLine(line) {
      const told = MirrorTold.safeParse(jsonOrNull(line));
      if (told.success) onTold(told.data); // a library may print, too
    },
    onOverflow: () => {},
  });
  child.output!.on("data", (chunk: Uint8Array) => splitter.push(chunk)); // a pipe

  const look = setInterval(() => {
    if (residentMb(child.pid) <= memory.resident_mb) return;
    too_large = true;
    child.kill();
  }, LOOK_MS);
  Deno.unrefTimer(Number(look));
  const ended = child.exited.then(({ code, signal, not_started }) => {
    clearInterval(look);
    if (stopped) return;
    if (too_large || /out of memory|heap limit/i.test(child.last_words)) {
      return onEnded(
        `it had no memory left (${memory.heap_mb} MB of heap, ${memory.resident_mb} MB in all)`,
      );
    }
    const how = signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
    onEnded(not_started ?? how + lastLine(child.last_words));
  });

  return {
    pid: child.pid,
    ask: (message) => void child.input.write(`${JSON.stringify(message)}\n`),
    async stop() {
      stopped = true;
      child.kill();
      await ended;
    },
  };
}

function lastLine(text: string): string {
  const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  return line === "" ? "" : `: ${line.slice(0, 200)}`;
}
