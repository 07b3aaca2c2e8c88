import {
  type Failure,
  type Outcome,
  PROTOCOL,
  type Span,
  type StageName,
  type StageRequest,
  type StageResult,
  type WorkerEvent,
} from "../core/mod.ts";
import { oomKills } from "./memory.ts";
import { readEvent, readResult } from "./read_event.ts";
import { monitorResources, type ResourceSample } from "./resource_monitor.ts";
import { type Exit, logTail, type WorkerProcess } from "./worker_process.ts";

/** A worker silent for so long is stalled: a step of the slowest library takes minutes. */
export const STALL_MS = 30 * 60 * 1000;

export interface ExchangeOptions {
  readonly request_id: string;
  readonly threads: number | null;
  readonly onEvent?: ((event: WorkerEvent) => void) | undefined;
  readonly onSample?: ((sample: ResourceSample) => void) | undefined;
  readonly sampleMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly stallMs?: number | undefined;
}

type Ending = { result: unknown } | { failure: Failure };

/** Sends one request to a worker, reads events until it has ended, and names how it ended. */
export async function exchange<R extends StageRequest>(
  worker: WorkerProcess,
  request: R,
  { request_id, threads, onEvent, onSample, sampleMs, signal, timeoutMs, stallMs = STALL_MS }:
    ExchangeOptions,
): Promise<Outcome<StageResult<R["stage"]>>> {
  const stage: StageName = request.stage;
  const sent = performance.now();
  const killsBefore = oomKills();
  const spans: Span[] = [];
  let imports = 0;
  let ending: Ending | undefined;
  let stallTimer: ReturnType<typeof setTimeout> | undefined;

  const failure = (kind: Failure["kind"], message: string, hint: string | null): Failure => ({
    kind,
    message,
    hint,
    stage,
  });
  const stop = (kind: Failure["kind"], message: string, hint: string | null) => {
    ending ??= { failure: failure(kind, message, hint) };
    void worker.end();
  };
  const logHint = `The worker's log: ${worker.log_path}`;
  const stall = (limit: number) => async () => {
    worker.dumpStacks();
    await new Promise((resolve) => setTimeout(resolve, 200)); // the dump is written by a handler
    stop("stall", `Cannot ${stage}: the worker said nothing for ${seconds(limit)}`, logHint);
  };
  const alive = () => {
    clearTimeout(stallTimer);
    if (ending === undefined) stallTimer = setTimeout(stall(stallMs), stallMs);
  };

  const take = (line: string) => {
    const read = readEvent(line);
    if (!read.ok) {
      stop("crash", `Cannot ${stage}: the worker broke the wire: ${read.reason}`, logHint);
      return;
    }
    const { event } = read;
    alive();
    if (event.event === "ready") imports = event.imports_seconds;
    else if (event.event === "started") spans.push(...startSpans(sent, imports));
    else if (event.event === "span") {
      spans.push({ name: event.name, seconds: event.seconds, library: event.library });
    } else if (event.event === "result") ending ??= { result: event.result };
    else if (event.event === "failure") {
      const where = event.traceback === null ? null : `${lastFrame(event.traceback)}${logHint}`;
      ending ??= { failure: failure(event.kind, event.message, event.hint ?? where) };
    }
    onEvent?.(event);
  };
  const abort = () => stop("cancelled", `Cannot ${stage}: it was cancelled`, null);
  const timeout = timeoutMs === undefined ? undefined : setTimeout(
    () => stop("stall", `Cannot ${stage} in ${seconds(timeoutMs)}: it was ended`, logHint),
    timeoutMs,
  );
  const monitor = monitorResources({
    pid: worker.pid,
    ...(onSample === undefined ? {} : { onSample }),
    ...(sampleMs === undefined ? {} : { intervalMs: sampleMs }),
    onAlert: (condition, evidence) => onEvent?.({ event: "alert", condition, evidence }),
  });
  try {
    signal?.addEventListener("abort", abort, { once: true });
    worker.listen({
      line: take,
      overflow: (bytes) =>
        stop("crash", `Cannot ${stage}: the worker wrote a line of ${bytes} bytes`, logHint),
    });
    alive();
    worker.send(`${
      JSON.stringify(
        { protocol: PROTOCOL, request_id, threads, stage_request: request },
      )
    }\n`);
    if (signal?.aborted) abort();
    const exit = await worker.exited;
    if (ending === undefined) {
      const memory = {
        oom_killed: (oomKills() ?? 0) > (killsBefore ?? 0),
        lowest_available_bytes: monitor.lowest_available_bytes,
      };
      return { ok: false, failure: nameDeath(exit, stage, worker.log_path, memory), spans };
    }
    if ("failure" in ending) return { ok: false, failure: ending.failure, spans };
    const read = readResult(stage, ending.result);
    if (read.ok) return { ok: true, value: read.value as StageResult<R["stage"]>, spans };
    const message = `Cannot ${stage}: the worker's result is not one: ${read.reason}`;
    return { ok: false, failure: failure("crash", message, logHint), spans };
  } finally {
    clearTimeout(stallTimer);
    clearTimeout(timeout);
    signal?.removeEventListener("abort", abort);
    monitor.stop();
  }
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
  stage: string,
  logPath: string,
  memory: { oom_killed: boolean; lowest_available_bytes: number },
): Failure {
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
      message: `Cannot ${stage}: out of memory: ${how}${said}`,
      hint: `Use a smaller model or fewer calibration windows, or free memory. ${hint}`,
      stage,
    };
  }
  return { kind: "crash", message: `Cannot ${stage}: ${how}${said}`, hint, stage };
}

function seconds(ms: number): string {
  return ms >= 120_000 ? `${Math.round(ms / 60_000)} minutes` : `${Math.round(ms / 100) / 10} s`;
}
