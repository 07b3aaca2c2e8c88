import { join } from "node:path";
import { type Capacity, type Engine, EngineError, type Slots } from "../../../core/jobs/engine.ts";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { EngineEntry, readEngines } from "./engines_file.ts";
import { type Devices, findDevices } from "./local/devices.ts";
import { LocalEngine } from "./local/local_engine.ts";
import { RayEngine } from "./ray/ray_engine.ts";
import { SlurmEngine } from "./slurm/slurm_engine.ts";

/** Where what an engine is called is looked up, and where one keeps what it holds. */
export interface EngineFolders {
  /** A user's engines (YAML); it need not be there. */
  readonly file: string;
  /** A folder of those who share a queue. */
  readonly books: string;
}

/** The engine that `--engine` names: `local`, `slurm:PARTITION`, `ray://HOST:PORT`, or one of the file. */
export async function openEngine(called: string, { file, books }: EngineFolders): Promise<Engine> {
  const entry = findEntry(called, file);
  const engine = asEntered(await engineOf(called, entry, books), entry);
  if (entry.artifacts !== undefined) engine.artifacts = entry.artifacts;
  if (entry.worker !== undefined) {
    engine.worker = { ...entry.worker, memory_gb: entry.worker.memory_gb ?? null };
  }
  return engine;
}

async function engineOf(called: string, entry: EngineEntry, books: string): Promise<Engine> {
  const machine = entry.machine ?? null;
  switch (entry.kind) {
    case "local": {
      const devices = await findDevices();
      const own = join(books, "local", Deno.hostname()); // machines may share the folder
      return new LocalEngine(own, within(devices, entry.limits, machine), called);
    }
    case "slurm": {
      const { partition = null, account = null, hours, gres, extra, deno = Deno.execPath() } =
        entry;
      const minutes = hours === undefined ? null : Math.ceil(60 * hours);
      const options = { partition, account, minutes, gres, extra, deno, machine };
      return new SlurmEngine(called, options);
    }
    case "ray": {
      const { address, token_variable, deno = Deno.execPath() } = entry;
      const url = address.replace(/^ray:/, "http:").replace(/\/+$/, "");
      const token = tokenOf(called, token_variable);
      const head = { name: called, url, token, token_from: token_variable };
      return new RayEngine(called, { head, deno, machine });
    }
  }
}

function findEntry(called: string, file: string): EngineEntry {
  const engines = readEngines(file);
  const own = engines.get(called);
  if (own !== undefined) return own;
  if (called === "local") return EngineEntry.parse({ kind: "local" });
  const [kind, ...more] = called.split(":");
  if (kind === "slurm") {
    const partition = more.join(":");
    return EngineEntry.parse({ kind, ...(partition === "" ? {} : { partition }) });
  }
  if (/^ray:\/\/[^/:]+:\d+\/?$/.test(called)) {
    return EngineEntry.parse({ kind: "ray", address: called });
  }
  if (more.length > 0 && kind !== "ray") {
    throw new UsageError(unknownName("kind of engine", kind!, ["local", "slurm", "ray"])); // a split text has a first part
  }
  const ways = ["local", "slurm:PARTITION", "ray://HOST:PORT"];
  throw new UsageError(unknownName("engine", called, [...engines.keys(), ...ways]));
}

function tokenOf(called: string, variable: string): string {
  const token = Deno.env.get(variable);
  if (token !== undefined && token !== "") return token;
  throw new EngineError(
    "down", // another process may have it
    `Cannot use ${called} without a token: set ${variable} to the one that its head was started with ` +
      "(RAY_AUTH_MODE=token)",
  );
}

type Limits = EngineEntry["limits"];

function least(slots: Slots, { cpu, gpu, memory_gb }: Limits): Slots {
  return {
    cpu: Math.min(slots.cpu, cpu ?? Infinity),
    gpu: Math.min(slots.gpu, gpu ?? Infinity),
    memory_gb: slots.memory_gb === null ? null : Math.min(slots.memory_gb, memory_gb ?? Infinity),
  };
}

function within(devices: Devices, limits: Limits, machine: string | null): Devices {
  const slots = least(devices.slots, limits);
  const cards = devices.cards.slice(0, slots.gpu);
  return { ...devices, slots, cards, machine: machine ?? devices.machine };
}

/** What a user lets pare have of an engine at once is what there is, at the price that the user says. */
function asEntered(engine: Engine, { limits, price_per_hour }: EngineEntry): Engine {
  if (Object.keys(limits).length === 0 && price_per_hour === undefined) return engine;
  const all = engine.capacity.bind(engine);
  engine.capacity = async (): Promise<Capacity> => {
    const capacity = await all();
    const [total, free, largest] = [capacity.total, capacity.free, capacity.largest]
      .map((slots) => least(slots, limits));
    const slots = { total: total!, free: free!, largest: largest! };
    return { ...capacity, ...slots, ...(price_per_hour === undefined ? {} : { price_per_hour }) };
  };
  return engine;
}
