import { rmSync } from "node:fs";
import {
  kindOf,
  memoryRefusal,
  type Registry,
  type RunRequest,
  type Spec,
  type StudyEvent,
  type StudyLimits,
  UsageError,
} from "../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../python-backends/client.ts";
import { DEMO_VARIABLE, ensureDemoModel } from "../../python-backends/demo_model.ts";
import { usedHash } from "../../python-backends/environments/environments.ts";
import { pinsHash } from "../../python-backends/environments/environment_pins.ts";
import { hasGpu } from "../../python-backends/environments/torch_wheel.ts";
import { OFFLINE_VARIABLES } from "../../python-backends/offline.ts";
import { type ArtifactStore } from "../artifacts/artifact_store.ts";
import { openFolderCache } from "../artifacts/folder_cache.ts";
import { checkRequest } from "../lab/check_request.ts";
import { recordedStudies, withEarlierLadder } from "../lab/data/earlier_ladder.ts";
import { withFoundTasks } from "../lab/data/find_tasks.ts";
import { inspectDataset } from "../lab/data/inspect_dataset.ts";
import { discoverPlugins } from "../lab/discover.ts";
import { type Home } from "../ground/home.ts";
import { provenanceOf } from "../lab/provenance.ts";
import { budgetRefusal } from "../lab/runner/energy_meter.ts";
import { gatherFacts } from "../lab/runner/gather_facts.ts";
import { runRefusal } from "../store/shelf/run_writer.ts";
import { runOwner } from "../store/shelf/writers.ts";
import { type CallRunner, createCallRunner } from "../lab/runner/call_runner.ts";
import { makeEnvironments, neededEnvironments } from "../lab/runner/study_environments.ts";
import { tellEnvironment } from "../show/terminal/tell_environment.ts";
import { studySamplers } from "../lab/search/study_samplers.ts";
import { type LabMirror } from "../exchange/mlflow/lab_mirror.ts";
import { type LabStore } from "../lab/lab_store.ts";
import type { Tools } from "../lab/runner/workshop.ts";
import { untilInterrupted } from "../ground/terminal/interrupt.ts";
import { LabStudy } from "./lab_study.ts";
import type { SessionInput } from "./start_study.ts";
import { openSession, type StudySession } from "./study_session.ts";

/** What the set-up of a lab's studies is told, and tells. */
export interface SetUpOptions {
  /** Bytes that artifacts may fill. */
  readonly maxDiskBytes?: number;
  /** The command that a report shows. */
  readonly command?: string;
  /** Told of set-up steps, such as the making of an environment. */
  readonly onSetup?: (line: string) => void;
  readonly onEvent?: (event: StudyEvent) => void;
}

/** What a lab has opened. */
export interface Opened {
  readonly options: SetUpOptions;
  readonly home: Home;
  readonly registry: Registry;
  readonly mlflow: LabMirror;
  readonly store: LabStore;
  readonly artifacts: ArtifactStore;
  /** Ends what runs. */
  readonly stop: AbortController;
  /** The demo's model file, once it is there. */
  gguf: string | undefined;
  /** A worker that may run a model's own code, or has a plugin's pins, is never another study's. */
  readonly clients: Map<string, BackendClient>;
  /** What is to be worked with now: where this was closed, a notebook has it opened again. */
  readonly now: () => Promise<Opened>;
}

/** A lab in which a study is being set up. */
export type Opening = Opened & { readonly setting_up: AbortSignal };

/** What a worker of a study may do. */
interface Freedom {
  readonly offline: boolean;
  /** Run the model's own code. */
  readonly trusting?: boolean;
}

/** A package's plugin is fetched by Deno, which cannot be told to leave that for one import. */
function refuseFetchedPlugins(plugins: readonly string[]): void {
  const fetched = plugins.find((one) => one.startsWith("npm:"));
  if (fetched === undefined) return;
  throw new UsageError(
    `Cannot load the plugin ${fetched} with --offline as it may have to be fetched: name its file`,
  );
}

export function toolsWith(opened: Opened, registry: Registry, freedom: Freedom): Tools {
  const { home, artifacts, options } = opened;
  return {
    home,
    registry,
    client: backend(opened, freedom, registry.environments),
    artifacts,
    caches: openFolderCache(home.cache),
    environmentHash: (name) => Promise.resolve(pinsHash(name, registry.environments.get(name))),
    timestamp: () => new Date().toISOString(),
    maxDiskBytes: options.maxDiskBytes ?? null,
  };
}

/** The door to Python for workers of one kind. */
function backend(
  { clients, home, stop, gguf, options }: Opened,
  { offline, trusting = false }: Freedom,
  pins_folders: Registry["environments"],
): BackendClient {
  const pins = [...pins_folders].map(([name, folder]) => [folder, pinsHash(name, folder)]);
  const kind = JSON.stringify([offline, trusting, pins]);
  const known = clients.get(kind);
  if (known !== undefined) return known;
  const client = createBackendClient({
    home: home.root,
    offline,
    pins_folders,
    signal: stop.signal,
    env: {
      ...(gguf === undefined ? {} : { [DEMO_VARIABLE]: gguf }),
      ...(trusting ? { PARE_TRUST_REMOTE_CODE: "1" } : {}),
      ...(offline ? OFFLINE_VARIABLES : {}),
    },
    onEnvironmentProgress: tellEnvironment(options),
  });
  clients.set(kind, client);
  return client;
}

export function setUpRunner(
  { options, setting_up }: Opening,
  tools: Tools,
  study_id: string,
  request: RunRequest,
): CallRunner {
  return createCallRunner({
    client: tools.client,
    study_id,
    signal: setting_up,
    onEvent: options.onEvent ?? (() => {}),
    record: () => Promise.resolve(), // set-up belongs to no trial
    keepLog: (_trial, _stage, path) => {
      rmSync(path, { force: true });
      return Promise.resolve(null);
    },
    timestamp: tools.timestamp,
    stall_minutes: request.stall_minutes,
  });
}

/**
 * The plugins of a study, with the tasks that its dataset names, and that dataset's facts; what cannot
 * run here is refused.
 */
export async function pluginsOf(opened: Opening, request: RunRequest, study_id: string) {
  const offline = request.offline ?? false;
  if (offline) refuseFetchedPlugins(request.plugins);
  const { registry } = opened;
  const loaded = request.plugins.length === 0 ? registry : await discoverPlugins(request.plugins);
  const dataset = await inspectDataset(request.dataset);
  const find = () => setUpRunner(opened, toolsWith(opened, loaded, { offline }), study_id, request);
  const plugins = await withFoundTasks(request, loaded, find);
  checkRequest(request, dataset, plugins);
  const runtime = request.runtime === undefined ? null : plugins.runtime(request.runtime);
  if (runtime?.needs.gpu === true && !await hasGpu()) {
    throw new UsageError(
      `Cannot measure speed in ${runtime.name} here: it needs an NVIDIA GPU, and nvidia-smi finds ` +
        "none; leave --runtime out for the best one that runs here",
    );
  }
  return { plugins, dataset };
}

/** A study that goes on: the limits that are set anew, and the spec that it began with. */
interface TakenUp {
  readonly limits?: StudyLimits;
  readonly begun?: Spec;
}

/** Refuses a study that another process writes before minutes of set-up, and not behind them. */
function requireNotWritten(root: string, study_id: string): void {
  const owner = runOwner(root, study_id);
  if (owner !== null && owner.pid !== Deno.pid) throw new UsageError(runRefusal(root, study_id));
}

/**
 * The set-up of a study, which the lab's end and an interrupted cell stop. A session whose lab was
 * closed is set up again by the call that needs it.
 */
export async function setUp(
  opened: Opened,
  asked: RunRequest,
  study_id: string,
  taken: TakenUp = {},
): Promise<StudySession> {
  const inputOf = (within: Opened) =>
    untilInterrupted(
      within.stop.signal,
      (setting_up) => sessionInput({ ...within, setting_up }, asked, study_id, taken),
    );
  requireNotWritten(opened.store.root, study_id);
  let within = await opened.now();
  let input = await inputOf(within);
  const now = async () => {
    const there = await opened.now();
    if (there !== within) [within, input] = [there, await inputOf(there)];
    return input;
  };
  return openSession(new LabStudy(input, now));
}

/** Looks at model and machine, infers the spec, and makes the environments. */
async function sessionInput(
  opened: Opening,
  asked: RunRequest,
  study_id: string,
  { limits = {}, begun }: TakenUp,
): Promise<SessionInput> {
  const { home, store, mlflow, setting_up, options } = opened;
  const offline = asked.offline ?? false;
  const { plugins, dataset } = await pluginsOf(opened, asked, study_id);
  if (asked.model_name === "demo") {
    const onProgress = options.onSetup ?? (() => {});
    opened.gguf = await ensureDemoModel(home.root, { offline, onProgress, signal: setting_up });
  }
  const tools = toolsWith(opened, plugins, { offline, trusting: asked.trust_remote_code });
  const runner = setUpRunner(opened, tools, study_id, asked);
  const { facts, baseline, student } = await gatherFacts(
    tools,
    runner,
    asked,
    dataset,
    opened.gguf,
  );
  const there = asked.samples.ladder === undefined ? null : await recordedStudies(store);
  const { request, assumptions } = await withEarlierLadder(asked, facts, study_id, there);
  const refusal = memoryRefusal(facts) ?? budgetRefusal(request, facts.device);
  if (refusal !== null) throw new UsageError(refusal);
  const kind = kindOf(request);
  const inferred = kind.spec(request, facts, plugins);
  const spec = { ...inferred, assumptions: [...inferred.assumptions, ...assumptions] };
  const samplers = studySamplers(request, plugins);
  const needed = neededEnvironments(plugins, begun ?? spec, kind.needs, samplers);
  await makeEnvironments(tools.client, needed);
  const hashes = Object.fromEntries(
    [...needed.keys()].map((name) => [name, usedHash(name, plugins.environments.get(name))]),
  );
  return {
    tools,
    store,
    mirror: mlflow.mirror,
    study_id,
    request,
    facts,
    spec,
    baseline,
    student,
    provenance: await provenanceOf(options.command ?? "notebook", facts.model, hashes),
    limits,
  };
}
