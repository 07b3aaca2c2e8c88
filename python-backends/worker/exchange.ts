import {
  type CallName,
  type CallRequest,
  type CallResult,
  type Failure,
  type Outcome,
  PROTOCOL,
  type Span,
  type WorkerEvent,
} from "../../core/mod.ts";
import { logTail } from "../child/log_tail.ts";
import type { Exit } from "../child/start_child.ts";
import { oomKills } from "../memory.ts";
import { readEvent, readResult } from "./read_event.ts";
import { monitorResources, type ResourceSample } from "./resource_monitor.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** A worker that gets no further for so long is stalled: a step of the slowest library takes
 * minutes. */
export const STALL_MS = 30 * 60 * 1000;

/** Until its first word, however short a silence counts after it: an interpreter starts slowly on a busy
 * machine. */
const START_MS = 60_000;

/** A timer of more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const STALL_HINT =
  "Its stacks stand in the worker's log; where it is only slow, allow more silence " +
  "by --stall-minutes";

export interface ExchangeOptions {
  readonly request_id: string;
  readonly threads: number | null;
  /** The GPU whose use is its own; absent: that of all. */
  readonly gpu?: string | undefined;
  readonly onEvent?: ((event: WorkerEvent) => void) | undefined;
  readonly onSample?: ((sample: ResourceSample) => void) | undefined;
  readonly sampleMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly stallMs?: number | undefined;
  /** Settles once a call that times may begin to; absent: at once. */
  readonly onTurn?: (() => Promise<void>) | undefined;
}

/** What is known of a call while it runs: how it will end, and the time it took until then. */
interface Course {
  readonly call: CallName;
  readonly spans: Span[];
  readonly log_hint: string;
  ending: { result: unknown } | { failure: Failure } | undefined;
  /** When its result or failure was read: what follows is the process's own end. */
  ended_at: number | null;
}

/** Sends one request to a worker, reads events until it has ended, and names how it ended. */
export async function exchange<R extends CallRequest>(
  worker: WorkerProcess,
  request: R,
  options: ExchangeOptions,
): Promise<Outcome<CallResult<R["call"]>>> {
  const { request_id, threads, gpu, onEvent, onSample, sampleMs, signal } = options;
  const course: Course = {
    call: request.call,
    spans: [],
    log_hint: `The worker's log: ${worker.log_path}`,
    ending: undefined,
    ended_at: null,
  };
  const killsBefore = oomKills();
  const stop = (kind: Failure["kind"], why: string, hint: string | null = course.log_hint) => {
    const { call } = course;
    course.ending ??= { failure: { kind, message: `Cannot ${call}${why}`, hint, phase: call } };
    void worker.end();
  };
  const silence: ResourceSample[] = [];
  const take = takeEvents(course, onEvent);
  const provesLife = lifeProofs();
  const monitor = monitorResources({
    pid: worker.pid,
    ...(gpu === undefined ? {} : { gpu }),
    onSample(sample) {
      silence.push(sample);
      onSample?.(sample);
    },
    ...(sampleMs === undefined ? {} : { intervalMs: sampleMs }),
    onAlert: (condition, evidence) => onEvent?.({ event: "alert", condition, evidence }),
  });
  const limits = watchTime(worker, stop, options, (ms) => {
    const evidence = `${course.call} got no further for ${seconds(ms)}; ${useOf(silence)}`;
    onEvent?.({ event: "alert", condition: "no_progress", evidence });
  });
  const abort = () => stop("cancelled", ": it was cancelled", null);
  try {
    signal?.addEventListener("abort", abort, { once: true });
    worker.listen({
      line(text) {
        const read = readEvent(text);
        if (!read.ok) return stop("crash", `: the worker broke the wire: ${read.reason}`);
        const other = otherThan(read.event, request.call, request_id);
        if (other !== null) return stop("crash", `: the worker broke the wire: ${other}`);
        if (provesLife(read.event)) {
          limits.alive(read.event.event === "waiting" ? read.event.seconds * 1000 : 0);
          silence.length = 0;
        }
        take(read.event);
        if (read.event.event === "turn") void giveTurn(worker, stop, options, limits);
      },
      overflow: (bytes) => stop("crash", `: the worker wrote a line of ${bytes} bytes`),
    });
    const message = { protocol: PROTOCOL, request_id, threads, request };
    worker.send(`${JSON.stringify(message)}\n`);
    if (signal?.aborted) abort();
    const exit = await worker.exited;
    if (course.ended_at !== null) {
      const seconds = (performance.now() - course.ended_at) / 1000;
      course.spans.push({ name: "end", seconds, library: false });
    }
    return conclude<R["call"]>(course, exit, worker.log_path, {
      oom_killed: (oomKills() ?? 0) > (killsBefore ?? 0),
      lowest_available_bytes: monitor.lowest_available_bytes,
    });
  } finally {
    limits.end();
    signal?.removeEventListener("abort", abort);
    monitor.stop();
  }
}

/** Why an event belongs to something else that was asked; null: it does not. */
function otherThan(event: WorkerEvent, call: CallName, request_id: string): string | null {
  if (event.event !== "started" && event.event !== "result") return null;
  if (event.call !== call) {
    return `it speaks of the call ${JSON.stringify(event.call.slice(0, 60))}`;
  }
  return event.event === "started" && event.request_id !== request_id
    ? "it speaks of another request"
    : null;
}

/** Lets a call begin to time once it may. */
async function giveTurn(
  worker: WorkerProcess,
  stop: (kind: Failure["kind"], why: string) => void,
  { onTurn }: ExchangeOptions,
  limits: ReturnType<typeof watchTime>,
): Promise<void> {
  limits.alive(LONGEST_TIMER_MS); // who waits for others is not silent
  try {
    await onTurn?.();
    limits.alive(0);
    worker.send("\n");
  } catch (error) {
    stop("crash", ` as its turn did not come: ${error instanceof Error ? error.message : error}`);
  }
}

/** Ends a worker that is silent for too long, or that takes too long. */
function watchTime(
  worker: WorkerProcess,
  stop: (kind: Failure["kind"], why: string, hint?: string) => void,
  { timeoutMs, stallMs = STALL_MS }: ExchangeOptions,
  onStall: (silentMs: number) => void,
): { alive(waitMs: number): void; end(): void } {
  let heard = false;
  const stalled = async () => {
    onStall(stallMs);
    if (heard) worker.dumpStacks(); // before it takes the signal, the signal would end it
    await new Promise((resolve) => setTimeout(resolve, 200)); // the dump is written by a handler
    stop("stall", `: the worker got no further for ${seconds(stallMs)}`, STALL_HINT);
  };
  let silence = setTimeout(stalled, Math.max(stallMs, START_MS));
  const limit = timeoutMs === undefined
    ? undefined
    : setTimeout(() => stop("stall", ` in ${seconds(timeoutMs)}: it was ended`), timeoutMs);
  return {
    /** It got further, or goes on by itself after `waitMs`. */
    alive(waitMs) {
      heard = true;
      clearTimeout(silence);
      silence = setTimeout(stalled, Math.min(stallMs + waitMs, LONGEST_TIMER_MS));
    },
    end() {
      clearTimeout(silence);
      clearTimeout(limit);
    },
  };
}

/** Whether an event shows that work is done: the same count told again and again does not. */
function lifeProofs(): (event: WorkerEvent) => boolean {
  const told = new Map<string, number>();
  return (event) => {
    if (event.event !== "progress") return true;
    const before = told.get(event.label);
    told.set(event.label, event.done);
    return before !== event.done;
  };
}

/** What a silent worker did meanwhile: busy and slow, or waiting for something that never comes. */
function useOf(samples: readonly ResourceSample[]): string {
  if (samples.length === 0) return "nobody looked at what it used meanwhile";
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const gpus = samples.flatMap(({ gpu }) => gpu?.utilisation ?? []);
  const { rss_bytes } = samples.at(-1)!;
  return `meanwhile ${
    mean(samples.map(({ cpu_cores }) => cpu_cores)).toFixed(2)
  } CPU cores busy, ` +
    (gpus.length === 0 ? "no GPU" : `GPU ${(100 * mean(gpus)).toFixed(0)} % busy`) +
    `, ${Math.round(rss_bytes / 1e6)} MB held`;
}

/** Takes one event after another into the course. */
function takeEvents(
  course: Course,
  onEvent: ((event: WorkerEvent) => void) | undefined,
): (event: WorkerEvent) => void {
  const sent = performance.now();
  let imports = 0;
  return (event) => {
    if (event.event === "ready") imports = event.imports_seconds;
    else if (event.event === "started") course.spans.push(...startSpans(sent, imports));
    else if (event.event === "span") {
      const { name, seconds, library } = event;
      course.spans.push({ name, seconds, library });
    } else if (event.event === "result") {
      course.ending ??= { result: event.result };
      course.ended_at = performance.now();
    } else if (event.event === "failure") {
      course.ended_at = performance.now();
      const { kind, message, traceback } = event;
      const where = traceback === null ? null : `${lastFrame(traceback)}${course.log_hint}`;
      const failure = { kind, message, hint: event.hint ?? where, phase: course.call };
      course.ending ??= { failure };
    }
    onEvent?.(event);
  };
}

/** The outcome of a call whose process has ended. */
function conclude<S extends CallName>(
  { call, spans, ending, log_hint }: Course,
  exit: Exit,
  logPath: string,
  memory: Parameters<typeof nameDeath>[3],
): Outcome<CallResult<S>> {
  if (ending === undefined) {
    return { ok: false, failure: nameDeath(exit, call, logPath, memory), spans };
  }
  if ("failure" in ending) return { ok: false, failure: ending.failure, spans };
  const read = readResult(call as S, ending.result); // the call of the request
  if (read.ok) return { ok: true, value: read.value, spans };
  const message = `Cannot ${call}: the worker's result is not one: ${read.reason}`;
  return { ok: false, failure: { kind: "crash", message, hint: log_hint, phase: call }, spans };
}

/** What the time until `started` went into; imports are the libraries' own work. */
function startSpans(sentAt: number, imports: number): Span[] {
  const total = (performance.now() - sentAt) / 1000;
  const library = Math.min(imports, total); // a spare had begun before
  return [
    { name: "start", seconds: total - library, library: false },
    ...(library > 0 ? [{ name: "import", seconds: library, library: true }] : []),
  ];
}

/** Where a traceback ends: `File "…", line 12, in f. `; the whole of it stands in the log. */
function lastFrame(traceback: string): string {
  const frame = traceback.split("\n").filter((line) => /^\s+File "/.test(line)).at(-1);
  return frame === undefined ? "" : `${frame.trim()}. `;
}

/** Words of a library that dies instead of raising when memory is refused. */
const MEMORY_TEXTS = /std::bad_alloc|out of memory|Cannot allocate memory|can't allocate memory/i;

/** Below this, a process killed from outside was killed for memory. */
const STARVED_BYTES = 300e6;

/** The failure of a worker that ended without saying why. */
export function nameDeath(
  exit: Exit,
  call: string,
  logPath: string,
  memory: { oom_killed: boolean; lowest_available_bytes: number },
): Failure {
  if (exit.not_started !== undefined) {
    return {
      kind: "crash",
      message: `Cannot ${call} as its worker could not be started: ${exit.not_started}`,
      hint:
        "Its Python or the folder of pare is gone, such as by deleting PARE_HOME: `pare setup` makes " +
        "the environments again",
      phase: call,
    };
  }
  const tail = logTail(logPath);
  const said = tail === "" ? "" : `; its last words: ${tail}`;
  const hint = `The worker's log: ${logPath}`;
  const how = exit.signal === null
    ? `the worker ended with exit code ${exit.code} and no result`
    : `the worker was ended by ${exit.signal}`;
  const starved = memory.oom_killed || memory.lowest_available_bytes < STARVED_BYTES;
  const memoryWords = exit.signal !== "SIGSEGV" && MEMORY_TEXTS.test(logTail(logPath, 60));
  if ((exit.signal === "SIGKILL" && starved) || memoryWords) {
    return {
      kind: "out_of_memory",
      message: `Cannot ${call}: out of memory: ${how}${said}`,
      hint: `Use a smaller model or fewer calibration windows, or free memory. ${hint}`,
      phase: call,
    };
  }
  return { kind: "crash", message: `Cannot ${call}: ${how}${said}`, hint, phase: call };
}

function seconds(ms: number): string {
  return ms >= 120_000 ? `${Math.round(ms / 60_000)} minutes` : `${Math.round(ms / 100) / 10} s`;
}
