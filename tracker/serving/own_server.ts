import {
  type DeviceFacts,
  type Facts,
  type Registry,
  type Runtime,
  type ServerCommand,
  unknownName,
  UsageError,
} from "../../core/mod.ts";
import { workerVariables } from "../../python-backends/client.ts";
import { pinsHash } from "../../python-backends/environments/environment_pins.ts";
import { findEnvironment } from "../../python-backends/environments/environments.ts";
import { OFFLINE_VARIABLES } from "../../python-backends/offline.ts";
import { refusal } from "../lab/runner/call_runner.ts";
import { makeForms } from "../lab/runner/forms/runtime_form.ts";
import { callRunner, type ServedSource, type SourceTools } from "./served_source.ts";

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a user may say of any server. */
export interface ServerChoices {
  /** Tokens of a prompt and its answer; undefined: the model's own context. */
  readonly max_model_len?: number;
}

const NO_DATASET: Facts["dataset"] = {
  dataset: "none",
  kind: "named",
  path: null,
  format: null,
  rows: null,
  sha256: null,
};

/** Why a runtime can serve no model; null: it can. */
export function whyUnserved(runtime: Runtime): string | null {
  if (runtime.unserved !== undefined) return runtime.unserved;
  return runtime.form === null && runtime.python_dir !== undefined
    ? "a third party's runtime without a form of its own has tokens and no probabilities"
    : null;
}

/** Why a runtime cannot serve it here; null: nothing speaks against it. */
function obstacle(
  runtime: Runtime,
  { model, artifact, weights_dir }: ServedSource,
  device: DeviceFacts,
): string | null {
  const never = whyUnserved(runtime);
  if (never !== null) return never;
  if (weights_dir !== undefined && runtime.form !== null) {
    return "its last action is a setting of the cache, which is known in transformers alone";
  }
  if (model === null) return null;
  const facts: Facts = { model, device, dataset: NO_DATASET };
  const support = runtime.supports(facts);
  if (!support.ok) return support.reason;
  for (const { part, effect, form } of artifact.changes ?? []) {
    const held = runtime.holds({ part, effect, form } as Parameters<Runtime["holds"]>[0], facts);
    if (!held.ok) return held.reason;
  }
  return null;
}

/** The runtime of a name; undefined: none was named. */
export function namedRuntime(registry: Registry, name: string | undefined): Runtime | undefined {
  if (name === undefined) return undefined;
  const found = registry.runtimes.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("server", name, registry.runtimes.map((one) => one.name)));
}

/**
 * The runtime that serves: the one that was asked for, else the best of those that are set up here and
 * can. Throws a sentence where it cannot.
 */
export async function chooseServing(
  { home, client }: SourceTools,
  registry: Registry,
  source: ServedSource,
  named: Runtime | undefined,
): Promise<Runtime> {
  const request = { call: "inspect_device", disk_path: home.root, country: null } as const;
  const device = await client.run(request, { environment: "default" });
  if (!device.ok) throw refusal(device.failure);
  if (named !== undefined) {
    const reason = obstacle(named, source, device.value);
    if (reason === null) return named;
    throw new UsageError(`Cannot serve ${source.name} with ${named.name}: ${reason}`);
  }
  for (const runtime of [...registry.runtimes].sort((a, b) => b.preference - a.preference)) {
    if (runtime.preference < 10 || obstacle(runtime, source, device.value) !== null) continue;
    if (await isHere(runtime, registry, home.root)) return runtime;
  }
  throw new UsageError(`Cannot serve ${source.name}: no runtime that is set up here holds it`);
}

async function isHere(runtime: Runtime, registry: Registry, home: string): Promise<boolean> {
  const names = [runtime.needs.environment, ...(runtime.form ? [runtime.form.environment] : [])];
  const found = names.map((name) => findEnvironment(name, home, registry.environments.get(name)));
  return (await Promise.all(found)).every((one) => one !== null);
}

/** The folder of what a runtime loads of an artifact, which is made where it is not there; null: it has no form. */
export async function formOf(
  { client, caches }: SourceTools,
  registry: Registry,
  { artifact }: ServedSource,
  runtime: Runtime,
): Promise<string | null> {
  await using scratch = await caches.scratch();
  const made = await makeForms({
    workshop: {
      caches,
      environmentHash: (one) => Promise.resolve(pinsHash(one, registry.environments.get(one))),
    },
    runner: callRunner(client),
    trial_id: "serve",
    runtime,
    precision: undefined,
    artifact,
    baseline: null,
  }, scratch.directory);
  if (!made.ok) throw refusal(made.failure);
  return made.value.form_dir ?? null;
}

/** pare's own server of an artifact in a runtime. */
export async function ownServer(
  { client }: SourceTools,
  { source, runtime, environment, form_dir, address, choices }: {
    source: ServedSource;
    runtime: Runtime;
    /** In which the artifact runs, as `environmentOf` has it. */
    environment: string;
    /** Of `formOf`. */
    form_dir: string | null;
    address: Address;
    choices: ServerChoices;
  },
): Promise<ServerCommand> {
  const { name, artifact, weights_dir } = source;
  const option = (flag: string, value: string | number | null | undefined) =>
    value === null || value === undefined ? [] : [flag, String(value)];
  const runtimePython = await client.pythonOf(runtime.needs.environment);
  return {
    program: await client.pythonOf(environment),
    args: [
      ...["-m", "pare_backends.supervised", "pare_backends.serving", artifact.location],
      ...["--name", name, "--host", address.host, "--port", String(address.port)],
      ...["--runtime", runtime.name, "--python", runtimePython],
      ...option("--form-dir", form_dir),
      ...option("--weights-dir", weights_dir),
      ...option("--runtime-dir", runtime.python_dir),
      ...option("--max-model-len", choices.max_model_len),
    ],
    environment: workerVariables(null, { ...OFFLINE_VARIABLES }),
  };
}
