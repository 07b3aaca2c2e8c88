import type { Failure, Outcome, StageName, StageRequest, StageResult } from "../core/mod.ts";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { demoVariables } from "./demo_model.ts";
import type { PinsFolders } from "./environments/environment_pins.ts";
import { ensureEnvironment, type OnEnvironmentProgress } from "./environments/environments.ts";
import { exchange, type ExchangeOptions } from "./worker/exchange.ts";
import { withFileLock } from "./file_lock.ts";
import { pareHome, PYTHON_ROOT } from "./home.ts";
import { createSpares, type Spares } from "./worker/warm_spare.ts";
import { forgetOldFolders } from "./worker/worker_folder.ts";
import { spawnWorker, type WorkerProcess } from "./worker/worker_process.ts";

/** Stages that import torch and transformers anyway: a warm spare saves them seconds. */
const SPARE_STAGES: ReadonlySet<StageName> = new Set<StageName>([
  "import_model",
  "prepare_data",
  "sensitivity",
  "apply",
  "verify",
  "evaluate",
  "prove_runtime",
]);

/** Stages that time: no spare may import beside them. */
const QUIET_STAGES: ReadonlySet<StageName> = new Set<StageName>(["speed"]);

const LOG_DAYS = 14;

export interface RunOptions extends Omit<ExchangeOptions, "request_id" | "threads"> {
  /** The one whose interpreter runs the stage: a folder under `envs/`, or a plugin's own. */
  readonly environment: string;
  /** Default: the physical cores. */
  readonly threads?: number | null;
  /** False: a fresh process even where a spare waits. */
  readonly spare?: boolean;
  /** Told where the worker's log lies once it has ended. */
  readonly onLog?: (path: string) => void;
}

/** The door to Python: every call is one process. */
export interface BackendClient {
  /** Runs one stage. Never throws: what went wrong is in the outcome, under its own name. */
  run<R extends StageRequest>(
    request: R,
    options: RunOptions,
  ): Promise<Outcome<StageResult<R["stage"]>>>;
  /** The interpreter of an environment, which is made where it is not there. */
  pythonOf(environment: string): Promise<string>;
  /** Starts the environment's spare early; settles when it waits for a request. Its seconds. */
  warm(environment: string): Promise<number | null>;
  /** Ends the spares. Running stages are ended by their own signal. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly home?: string;
  /** An environment that is not there is refused, not made. */
  readonly offline?: boolean;
  /** Pins of the environments that plugins bring. */
  readonly pins_folders?: PinsFolders;
  /** Ends every running stage and the spares. */
  readonly signal?: AbortSignal;
  readonly threads?: number | null;
  /** More variables for every worker. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onEnvironmentProgress?: OnEnvironmentProgress;
  /** Keeps a warm spare. Default: unless `PARE_SPARES` is 0, as where other work has all cores. */
  readonly spares?: boolean;
  /** One line about each process started and ended. */
  readonly log?: (line: string) => void;
}

/** What a client's calls share. */
interface Calls {
  readonly options: ClientOptions;
  readonly home: string;
  readonly log: (line: string) => void;
  /** Interpreters by environment, made or being made. */
  readonly pythons: Map<string, Promise<string>>;
  readonly spares: Spares;
  readonly keepSpares: boolean;
  /** Processes started. */
  count: number;
}

/** Makes a client. Environments are created on first use. */
export function createBackendClient(options: ClientOptions = {}): BackendClient {
  const { home = pareHome(), signal, log = () => {} } = options;
  forgetOldLogs(join(home, "logs"));
  forgetOldFolders();
  const calls: Calls = {
    ...{ options, home, log, pythons: new Map(), count: 0 },
    keepSpares: options.spares ?? process.env["PARE_SPARES"] !== "0",
    spares: createSpares({
      start: async (environment) => start(calls, await pythonOf(calls, environment), "torch"),
    }),
  };
  const { spares } = calls;
  signal?.addEventListener("abort", () => void spares.close(), { once: true });
  return {
    async run(request, run) {
      const joined = [signal, run.signal].filter((one) => one !== undefined);
      const stop = joined.length === 0 ? undefined : AbortSignal.any(joined);
      return QUIET_STAGES.has(request.stage)
        ? await runAlone(calls, request, run, stop)
        : await runOnce(calls, request, run, stop);
    },
    pythonOf: (environment) => pythonOf(calls, environment),
    warm: (environment) => spares.prepare(environment),
    close: () => spares.close(),
  };
}

function pythonOf({ pythons, options, home }: Calls, environment: string): Promise<string> {
  const known = pythons.get(environment);
  if (known !== undefined) return known;
  const made = ensureEnvironment(environment, {
    ...options, // offline, signal
    home,
    pins_directory: options.pins_folders?.get(environment),
    onProgress: options.onEnvironmentProgress,
  }).then(({ python }) => python);
  pythons.set(environment, made);
  made.catch(() => pythons.delete(environment)); // the next call tries again
  return made;
}

function start(calls: Calls, python: string, preload: "torch" | "none"): WorkerProcess {
  const { home, log, options: { threads = null, env = {} } } = calls;
  calls.count += 1;
  const log_path = join(home, "logs", `worker-${process.pid}-${calls.count}.log`);
  const worker = spawnWorker({
    python,
    args: ["-m", "pare_backends.worker", "--supervised", "--preload", preload],
    cwd: PYTHON_ROOT,
    env: workerVariables(threads, { ...demoVariables(home), ...env }),
    log_path,
  });
  log(`started worker ${worker.pid} (preload ${preload}), log ${log_path}`);
  return worker;
}

/** A stage in a process: the environment's spare where one waits. */
async function runOnce<R extends StageRequest>(
  calls: Calls,
  request: R,
  run: RunOptions,
  stop: AbortSignal | undefined,
): Promise<Outcome<StageResult<R["stage"]>>> {
  const { spares, log, options: { threads = null } } = calls;
  const { stage } = request;
  const wantsSpare = (run.spare ?? calls.keepSpares) && SPARE_STAGES.has(stage);
  let worker: WorkerProcess;
  try {
    const python = await pythonOf(calls, run.environment);
    const spare = wantsSpare ? await spares.take(run.environment) : undefined;
    worker = spare ?? start(calls, python, SPARE_STAGES.has(stage) ? "torch" : "none");
  } catch (error) {
    return notStarted(error, stage, stop?.aborted === true);
  }
  const outcome = await exchange(worker, request, {
    ...run,
    onEvent: (event) => {
      // Not before: two processes that import at once make both slow.
      if (wantsSpare && event.event === "started") void spares.prepare(run.environment);
      run.onEvent?.(event);
    },
    request_id: `${process.pid}-${calls.count}`,
    threads: run.threads ?? threads,
    signal: stop,
  });
  run.onLog?.(worker.log_path);
  log(`worker ${worker.pid} ended ${stage}: ${outcome.ok ? "ok" : outcome.failure.kind}`);
  return outcome;
}

/** A stage that times: one at a time on this machine, whoever asks for it, and no import beside it. */
async function runAlone<R extends StageRequest>(
  calls: Calls,
  request: R,
  run: RunOptions,
  stop: AbortSignal | undefined,
): Promise<Outcome<StageResult<R["stage"]>>> {
  const { home, spares } = calls;
  try {
    const asked = performance.now();
    return await withFileLock(
      join(home, "timing.lock"),
      { signal: stop, guard: home },
      async () => {
        const locked = performance.now();
        await spares.settle();
        const settled = performance.now();
        const outcome = await runOnce(calls, request, run, stop);
        const waits = [
          { name: "lock", seconds: (locked - asked) / 1000, library: false },
          { name: "spare", seconds: (settled - locked) / 1000, library: false },
        ];
        return { ...outcome, spans: [...outcome.spans, ...waits] };
      },
    );
  } catch (error) {
    return notStarted(error, request.stage, stop?.aborted === true);
  }
}

/** Variables of every worker; the rest of the environment is inherited. */
export function workerVariables(
  threads: number | null,
  more: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PYTHONPATH: PYTHON_ROOT,
    PYTHONUNBUFFERED: "1",
    PYTHONNOUSERSITE: "1",
    PYTHONHASHSEED: "0",
    // Packages are installed without bytecode: what is imported once is kept.
    PYTHONDONTWRITEBYTECODE: "",
    // Libraries' own reporting home: never from here.
    HF_HUB_DISABLE_TELEMETRY: "1",
    DO_NOT_TRACK: "1",
    ...(threads === null ? {} : { OMP_NUM_THREADS: String(threads) }),
    ...more,
  };
}

function notStarted(error: unknown, stage: StageName, cancelled: boolean): Outcome<never> {
  const message = error instanceof Error ? error.message : String(error);
  const failure: Failure = {
    kind: cancelled ? "cancelled" : "missing_environment",
    message: `Cannot ${stage}: ${message}`,
    hint: cancelled ? null : "`pare doctor` says what is missing",
    stage,
  };
  return { ok: false, failure, spans: [] };
}

/** Removes logs that nobody will read any more. */
function forgetOldLogs(folder: string): void {
  const oldest = Date.now() - LOG_DAYS * 86_400_000;
  try {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (name.startsWith("worker-") && statSync(path).mtimeMs < oldest) rmSync(path);
    }
  } catch {
    // No folder yet, or another process was faster.
  }
}
