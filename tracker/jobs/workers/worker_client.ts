import { join } from "node:path";
import {
  type CallName,
  type CallRequest,
  type CallResult,
  type Capacity,
  type Engine,
  howCalled,
  type Outcome,
  type Slots,
  UsageError,
} from "../../../core/mod.ts";
import type { BackendClient, ClientOptions } from "../../../python-backends/client.ts";
import { readResult } from "../../../python-backends/worker/read_event.ts";
import { lacking } from "../../../core/jobs/slots.ts";
import { WorkerPool } from "./worker_pool.ts";
import type { NamedInputs } from "./worker_wire.ts";

/** The workers that a study asks an engine for. */
export interface WorkersAsked {
  readonly engine: Engine;
  readonly count: number;
  /** Of each. */
  readonly slots: Slots;
  /** What a machine of it may lack; absent: there is no object store. */
  readonly given?: NamedInputs;
}

/** Threads of a worker where nobody says how many there are: most of a trial's work fills no more. */
const CORES_EACH = 4;

/** What each of so many workers takes, where a user does not say it. */
function usualSlots({ total, largest }: Capacity, asked: number | "auto"): Slots {
  const memory_gb = null;
  if (total.gpu > 0) {
    const cpu = Math.max(1, Math.floor(largest.cpu / Math.max(1, largest.gpu)));
    return { cpu, gpu: 1, memory_gb };
  }
  const part = asked === "auto" ? CORES_EACH : total.cpu / asked;
  return { cpu: Math.max(1, Math.floor(Math.min(largest.cpu, part))), gpu: 0, memory_gb };
}

/** How many workers an engine has room for. */
function roomFor(each: Slots, { total }: Capacity): number {
  const parts = [
    Math.floor(total.cpu / each.cpu),
    ...(each.gpu > 0 ? [Math.floor(total.gpu / each.gpu)] : []),
    ...(each.memory_gb !== null && total.memory_gb !== null
      ? [Math.floor(total.memory_gb / each.memory_gb)]
      : []),
  ];
  return Math.min(...parts);
}

/** The workers of a study: as many as are asked for, each with the same part of the engine. */
export function workersOn(
  capacity: Capacity,
  engine: Engine,
  asked: number | "auto" = 1,
): WorkersAsked {
  if (capacity.total.cpu < 1) {
    throw new UsageError(`Cannot run a study on ${engine.name} as it has no machine that is up`);
  }
  const slots = engine.worker ?? usualSlots(capacity, asked);
  const lacks = lacking(slots, capacity.largest);
  if (lacks !== "") {
    throw new UsageError(
      `Cannot run a worker on ${engine.name} as it takes ${lacks} and no machine there has so much: ask for ` +
        "less by worker in engines.yaml",
    );
  }
  const most = roomFor(slots, capacity);
  const count = asked === "auto" ? Math.max(1, most) : asked;
  if (count > most) {
    const cards = slots.gpu > 0 ? ` and ${slots.gpu} of ${capacity.total.gpu} cards` : "";
    throw new UsageError(
      `Cannot run ${count} workers on ${engine.name} as each takes ${slots.cpu} of ${capacity.total.cpu} ` +
        `threads${cards}: give --workers ${
          Math.max(1, most)
        } or less, or say what one takes by worker in ` +
        "engines.yaml",
    );
  }
  return { engine, count, slots };
}

export interface WorkerClientOptions extends Omit<ClientOptions, "threads" | "log"> {
  readonly home: string;
  readonly say: (line: string) => void;
}

/** Checks what a worker wrote as what a Python process says is checked. */
function checked<N extends CallName>(call: N, outcome: Outcome<unknown>): Outcome<CallResult<N>> {
  if (!outcome.ok) return { ...outcome, failure: { ...outcome.failure, phase: call } };
  const read = readResult(call, outcome.value);
  if (read.ok) return { ok: true, value: read.value, spans: outcome.spans };
  const message = `Cannot ${call}: the worker's result is not one: ${read.reason}`;
  const failure = { kind: "crash" as const, message, hint: null, phase: call };
  return { ok: false, failure, spans: outcome.spans };
}

/** A door to Python whose processes run on an engine's machines, which see the same folders. */
export function createWorkerClient(
  { engine, count, slots, given }: WorkersAsked,
  { home, offline = false, pins_folders = new Map(), env = {}, signal, say }: WorkerClientOptions,
): BackendClient {
  const id = crypto.randomUUID().slice(0, 8);
  const run_folder = join(workersFolder(home), `run-${id}`);
  const pool = new WorkerPool({
    ...{ engine, count, slots, run_folder, say, id: `pare-${id}` },
    settings: {
      ...{ home, offline, env: { ...env }, run_folder, study_host: Deno.hostname() },
      pins_folders: [...pins_folders],
      threads: Math.max(1, Math.floor(slots.cpu)),
      given: given ?? null,
    },
  });
  const pythons = new Map<string, Promise<string>>();
  const askPython = async (environment: string) => {
    const options = { environment, ...(signal === undefined ? {} : { signal }) };
    const outcome = await pool.run({ request: null, options, timed: false });
    if (outcome.ok) return String(outcome.value);
    throw new UsageError(outcome.failure.message);
  };
  return {
    async run<R extends CallRequest>(request: R, options: Parameters<BackendClient["run"]>[1]) {
      const joined = [signal, options.signal].filter((one) => one !== undefined);
      const stop = joined.length === 0 ? undefined : AbortSignal.any(joined);
      const asked = { ...options, ...(stop === undefined ? {} : { signal: stop }) };
      const { timed } = howCalled(request.call);
      // What else a machine has is the pool's to see: the worker there gives the turn at once.
      if (timed) await options.onTurn?.();
      const outcome = await pool.run({ request, options: asked, timed });
      return checked<R["call"]>(request.call, outcome);
    },
    pythonOf(environment) {
      const known = pythons.get(environment) ?? askPython(environment);
      pythons.set(environment, known);
      known.catch(() => pythons.delete(environment)); // the next call tries again
      return known;
    },
    warm: () => Promise.resolve(null),
    close: () => pool.close(),
  };
}

/** Where studies and their workers on engines meet. */
export function workersFolder(home: string): string {
  return join(home, "workers");
}
