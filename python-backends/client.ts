import {
  type CallName,
  type CallRequest,
  type CallResult,
  type Failure,
  howCalled,
  type Outcome,
  type Span,
} from "../core/mod.ts";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { demoVariables } from "./demo_model.ts";
import type { PinsFolders } from "./environments/environment_pins.ts";
import { ensureEnvironment, type OnEnvironmentProgress } from "./environments/environments.ts";
import { exchange, type ExchangeOptions } from "./worker/exchange.ts";
import { type FileLock, takeFileLock } from "./file_lock.ts";
import { pareHome, PYTHON_ROOT } from "./home.ts";
import { type Nursery, startNursery } from "./worker/nursery.ts";
import { forgetOldFolders } from "./worker/worker_folder.ts";
import { spawnWorker, type WorkerProcess } from "./worker/worker_process.ts";

const LOG_DAYS = 14;

export interface RunOptions extends Omit<ExchangeOptions, "request_id" | "threads" | "gpu"> {
  /** The one whose interpreter runs the call: a folder under `envs/`, or a plugin's own. */
  readonly environment: string;
  /** Default: the physical cores. */
  readonly threads?: number | null;
  /** More variables for this call's worker, which is then a fresh process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Told where the worker's log lies once it has ended. */
  readonly onLog?: (path: string) => void;
}

/** The door to Python: every call is one process. */
export interface BackendClient {
  /** Runs one call. Never throws: what went wrong is in the outcome, under its own name. */
  run<R extends CallRequest>(
    request: R,
    options: RunOptions,
  ): Promise<Outcome<CallResult<R["call"]>>>;
  /** The interpreter of an environment, which is made where it is not there. */
  pythonOf(environment: string): Promise<string>;
  /**
   * Starts the environment's nursery early; settles when its imports are done, with their seconds; null:
   * there is none here.
   */
  warm(environment: string): Promise<number | null>;
  /** Ends the nurseries. Running calls are ended by their own signal. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly home?: string;
  /** An environment that is not there is refused, not made. */
  readonly offline?: boolean;
  /** Pins of the environments that plugins bring. */
  readonly pins_folders?: PinsFolders;
  /** Ends every running call and the nurseries. */
  readonly signal?: AbortSignal;
  readonly threads?: number | null;
  /** More variables for every worker. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onEnvironmentProgress?: OnEnvironmentProgress;
  /**
   * Forks workers of one process that has imported what they need. Default: on Linux, unless
   * `PARE_NURSERY` is 0.
   */
  readonly nursery?: boolean;
  /** Folder of its workers' logs; default: that of the home. */
  readonly logs?: string;
  /** What it times by itself, such as a card or another machine: its timings wait for no others. */
  readonly timed_device?: string;
  /** The GPU that is its own; absent: all are. */
  readonly gpu?: string;
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
  /** By environment; one that ended is started anew. */
  readonly nurseries: Map<string, Promise<Nursery | null>>;
  readonly hasNursery: boolean;
  closed: boolean;
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
    ...{ nurseries: new Map(), closed: false },
    hasNursery: wantsNursery(options),
  };
  signal?.addEventListener("abort", () => void endNurseries(calls), { once: true });
  return {
    async run(request, run) {
      const joined = [signal, run.signal].filter((one) => one !== undefined);
      const stop = joined.length === 0 ? undefined : AbortSignal.any(joined);
      return howCalled(request.call).timed
        ? await runTimed(calls, request, run, stop)
        : await runOnce(calls, request, run, stop);
    },
    pythonOf: (environment) => pythonOf(calls, environment),
    warm: async (environment) => await (await nurseryOf(calls, environment))?.ready ?? null,
    close: () => endNurseries(calls),
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

function wantsNursery({ nursery }: ClientOptions): boolean {
  if (nursery !== undefined) return nursery;
  // macOS's own libraries may not be forked, and no signal tells there that a parent has died.
  return process.platform === "linux" && process.env["PARE_NURSERY"] !== "0";
}

/** The environment's nursery, which is started where none runs; null: there is none here. */
async function nurseryOf(calls: Calls, environment: string): Promise<Nursery | null> {
  if (!calls.hasNursery || calls.closed) return null;
  const { nurseries } = calls;
  const known = nurseries.get(environment);
  if (known !== undefined && (await known.catch(() => null))?.running) return await known;
  // Two who found it ended get one new one.
  if (nurseries.get(environment) !== known) return await nurseryOf(calls, environment);
  const started = pythonOf(calls, environment).then((python) =>
    startNursery({ ...processOf(calls), python })
  );
  nurseries.set(environment, started);
  return await started;
}

async function endNurseries(calls: Calls): Promise<void> {
  calls.closed = true;
  const all = [...calls.nurseries.values()];
  await Promise.all(all.map(async (one) => await (await one.catch(() => null))?.end()));
}

/** What a process of this client is started with, but for its program: a log of its own. */
function processOf(
  calls: Calls,
  own: RunOptions["env"] = {},
): { cwd: string; env: Record<string, string>; log_path: string } {
  const { home, options: { threads = null, env = {}, logs = join(home, "logs") } } = calls;
  calls.count += 1;
  return {
    cwd: PYTHON_ROOT,
    env: workerVariables(threads, { ...demoVariables(home), ...env, ...own }),
    log_path: join(logs, `worker-${process.pid}-${calls.count}.log`),
  };
}

/** A worker for a call: forked where its imports are done already, else a fresh process. */
async function start(
  calls: Calls,
  { environment, env }: Pick<RunOptions, "environment" | "env">,
  call: CallName,
): Promise<WorkerProcess> {
  const python = await pythonOf(calls, environment);
  const { imports, preload } = howCalled(call);
  const forks = imports !== null && env === undefined;
  const nursery = forks ? await nurseryOf(calls, environment) : null;
  const worker = await nursery?.fork(processOf(calls).log_path, imports!);
  if (worker !== undefined) {
    calls.log(`forked worker ${worker.pid} for ${call}, log ${worker.log_path}`);
    return worker;
  }
  const args = ["-m", "pare_backends.worker", "--supervised"];
  if (preload) args.push("--preload", "torch");
  const fresh = spawnWorker({ ...processOf(calls, env), python, args });
  calls.log(`started worker ${fresh.pid} for ${call}, log ${fresh.log_path}`);
  return fresh;
}

/** A call in a process of its own. */
async function runOnce<R extends CallRequest>(
  calls: Calls,
  request: R,
  run: RunOptions,
  stop: AbortSignal | undefined,
): Promise<Outcome<CallResult<R["call"]>>> {
  const { log, options: { threads = null } } = calls;
  const { call } = request;
  const asked = performance.now();
  let worker: WorkerProcess;
  try {
    worker = await unlessStopped(start(calls, run, call), stop);
  } catch (error) {
    return notStarted(error, call, stop?.aborted === true);
  }
  const waited = (performance.now() - asked) / 1000;
  const outcome = await exchange(worker, request, {
    ...run,
    request_id: `${process.pid}-${calls.count}`,
    threads: run.threads ?? threads,
    gpu: run.env?.["CUDA_VISIBLE_DEVICES"] ?? calls.options.gpu,
    signal: stop,
  });
  run.onLog?.(worker.log_path);
  log(`worker ${worker.pid} ended ${call}: ${outcome.ok ? "ok" : outcome.failure.kind}`);
  // The first call waits for the imports that all the others find done.
  const imported = { name: "import", seconds: waited, library: true };
  return { ...outcome, spans: waited > 0.1 ? [imported, ...outcome.spans] : outcome.spans };
}

/** The worker; one that comes after the stop is ended, and whoever waits goes on at once. */
async function unlessStopped(
  starting: Promise<WorkerProcess>,
  stop: AbortSignal | undefined,
): Promise<WorkerProcess> {
  const stopped = Promise.withResolvers<never>();
  const abort = () => {
    stopped.reject(new Error("it was cancelled"));
    starting.then((worker) => worker.end(), () => {});
  };
  if (stop?.aborted) abort();
  stop?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([starting, stopped.promise]);
  } finally {
    stop?.removeEventListener("abort", abort);
  }
}

/**
 * A call that times: from its turn on one at a time on this machine, or on the GPU that is its own, whoever
 * asks for it, and no import beside it.
 */
async function runTimed<R extends CallRequest>(
  calls: Calls,
  request: R,
  run: RunOptions,
  stop: AbortSignal | undefined,
): Promise<Outcome<CallResult<R["call"]>>> {
  const ended = new AbortController();
  const given_up = AbortSignal.any([ended.signal, ...(stop === undefined ? [] : [stop])]);
  const waits: Span[] = [];
  let lock: FileLock | undefined;
  const onTurn = async () => {
    await run.onTurn?.();
    const asked = performance.now();
    given_up.throwIfAborted();
    const taken = await takeFileLock(...timingLock(calls, run, given_up));
    if (given_up.aborted) return taken.release();
    lock = taken;
    const locked = performance.now();
    await settle(calls);
    waits.push(
      { name: "lock", seconds: (locked - asked) / 1000, library: false },
      { name: "imports beside", seconds: (performance.now() - locked) / 1000, library: false },
    );
  };
  try {
    const outcome = await runOnce(calls, request, { ...run, onTurn }, stop);
    return { ...outcome, spans: [...outcome.spans, ...waits] };
  } finally {
    ended.abort();
    lock?.release();
  }
}

function timingLock(
  { home, options }: Calls,
  { env }: RunOptions,
  signal: AbortSignal,
): Parameters<typeof takeFileLock> {
  const device = env?.["PARE_TIMED_DEVICE"] ?? options.timed_device;
  return device === undefined
    ? [join(home, "timing.lock"), { signal, guard: home }]
    : [join(home, `timing-${device}.lock`), { signal }];
}

/** Settles when no nursery is importing. */
async function settle({ nurseries }: Calls): Promise<void> {
  const all = [...nurseries.values()];
  await Promise.all(all.map(async (one) => await (await one.catch(() => null))?.ready));
}

/**
 * Rounds that a thread of OpenMP spins in wait for the others before it sleeps. libgomp's own 300,000 count on
 * nobody else: beside three busy processes on two cores a forward pass took four to nine times as long by them.
 * On an idle machine so many are as fast (within what two runs differ by), and 1,000 are a tenth slower.
 */
const SPIN_COUNT = "10000";

function waiting(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const asked = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"].some((name) => env[name] !== undefined);
  return asked ? {} : { GOMP_SPINCOUNT: SPIN_COUNT };
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
    // A library that asks for a GPU while it is imported opens none: a nursery forks after that,
    // and a GPU that is open does not survive a fork.
    PYTORCH_NVML_BASED_CUDA_CHECK: "1",
    DO_NOT_TRACK: "1",
    ...waiting(process.env),
    ...(threads === null ? {} : { OMP_NUM_THREADS: String(threads) }),
    ...more,
  };
}

function notStarted(error: unknown, call: CallName, cancelled: boolean): Outcome<never> {
  const message = error instanceof Error ? error.message : String(error);
  const failure: Failure = {
    kind: cancelled ? "cancelled" : "missing_environment",
    message: `Cannot ${call}: ${message}`,
    hint: cancelled ? null : "`pare doctor` says what is missing",
    phase: call,
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
