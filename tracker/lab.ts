import { rmSync } from "node:fs";
import {
  evaluationSpec,
  inferSpec,
  memoryRefusal,
  type Registry,
  type Spec,
  type StudyEvent,
  type StudyLimits,
  type StudyRequest,
  type StudyRequestInput,
  UsageError,
} from "../core/mod.ts";
import { type BackendClient, createBackendClient } from "../python-backends/client.ts";
import { DEMO_VARIABLE, ensureDemoModel } from "../python-backends/demo_model.ts";
import { usedHash } from "../python-backends/environments/environments.ts";
import { pinsHash } from "../python-backends/environments/environment_pins.ts";
import { hasGpu } from "../python-backends/environments/torch_wheel.ts";
import { OFFLINE_VARIABLES } from "../python-backends/offline.ts";
import { type ArtifactStore, openArtifactStore } from "./artifacts/artifact_store.ts";
import { openFolderCache } from "./artifacts/folder_cache.ts";
import { checkRequest } from "./check_request.ts";
import { checkStudy } from "./check_study.ts";
import { recordedStudies, withEarlierLadder } from "./data/earlier_ladder.ts";
import { withFoundTasks } from "./data/find_tasks.ts";
import { inspectDataset } from "./data/inspect_dataset.ts";
import { discoverPlugins } from "./discover.ts";
import { findStudy, openedRecord, resumedRequest, studyName } from "./find_study.ts";
import { checkHome, findHome, type Home } from "./home.ts";
import { provenanceOf } from "./provenance.ts";
import { budgetRefusal } from "./runner/energy_meter.ts";
import { gatherFacts } from "./runner/gather_facts.ts";
import { createStageRunner, type StageRunner } from "./runner/stage_runner.ts";
import { makeEnvironments, neededEnvironments } from "./runner/study_environments.ts";
import { tellEnvironment } from "./terminal/tell_environment.ts";
import { studySamplers } from "./search/study_samplers.ts";
import { type LabMirror, openLabMirror } from "./mlflow/lab_mirror.ts";
import { type LabStore, openLabStore } from "./lab_store.ts";
import { newFolders } from "./new_folders.ts";
import type { Tools } from "./runner/workshop.ts";
import { type Comparison, comparisonRows, studyRows } from "./notebook/comparison.ts";
import {
  type ShownStudies,
  showStudies,
  type StudiesReportOptions,
} from "./notebook/show_studies.ts";
import { labsAgain, sessionsAgain } from "./notebook/run_again.ts";
import type { Rows } from "./notebook/trial_tables.ts";
import { takeNote, writeNote } from "./store/take_note.ts";
import type { Store, StudySummary } from "./store/store.ts";
import { kernelBroadcast } from "./terminal/kernel.ts";
import { type Comparand, compareAny, idOf } from "./view/compare_any.ts";
import { type SqlRows, sqlRows } from "./sql_rows.ts";
import type { Value } from "./store/query/result.ts";
import { openSession, type StudySession, viewStudy } from "./study_session.ts";
import type { StudyView } from "./view/study_view.ts";

/** What may stand in `${}` of a query. */
export type SqlValue = string | number | boolean | null;

/** How a lab is opened. Everything has a default. */
export interface LabOptions {
  /** The store's folder; default `store/` in PARE_HOME. */
  readonly store?: string;
  /** A folder for all that is made, in place of PARE_HOME's: only environments are shared. */
  readonly fresh?: string;
  /**
   * Takes the store for writing at once, so that a second study is refused before minutes of set-up;
   * default: only while a study runs, and the store is read at any time beside others.
   */
  readonly write?: boolean;
  /** The MLflow server that studies are mirrored to; default: MLFLOW_TRACKING_URI, else none. */
  readonly mlflow?: string;
  /** Told once of each thing that MLflow has otherwise than expected; default: standard error. */
  readonly onMirror?: (sentence: string) => void;
  /** Bytes that artifacts may fill. */
  readonly maxDiskBytes?: number;
  /** The command that a report shows. */
  readonly command?: string;
  /** Whether cells may be run twice: what is open then comes back; default: in a notebook's kernel. */
  readonly notebook?: boolean;
  readonly signal?: AbortSignal;
  /** Told of set-up steps, such as the making of an environment. */
  readonly onSetup?: (line: string) => void;
  readonly onEvent?: (event: StudyEvent) => void;
}

/** Where studies are opened, resumed and looked at; the door for notebooks and the command line. */
export interface Lab {
  readonly home: Home;
  readonly registry: Registry;
  readonly store: LabStore;
  /** The mirror of its studies to an MLflow server. */
  readonly mlflow: LabMirror;
  /**
   * Inspects model and dataset and infers the spec; nothing is written until it runs. The same request
   * again, as of a notebook's cell that is run twice, gives the session that it gave.
   */
  open(request: StudyRequestInput, name?: string): Promise<StudySession>;
  /** Takes up a study that was stopped, the latest where none is named; limits may be set anew. */
  resume(study_id?: string, limits?: StudyLimits): Promise<StudySession>;
  /** A study as its journal tells it; the latest where none is named. */
  view(study_id?: string): Promise<StudyView>;
  studies(): Promise<Rows<StudySummary>>;
  /** Two trials sample by sample, or two studies by what they came to: ids, or what has one. */
  compare(first: Comparand, second: Comparand): Promise<Comparison>;
  /** One report over several studies, as `pare report A B` writes it: ids, or what has one. */
  report(studies: readonly Comparand[], options?: StudiesReportOptions): Promise<ShownStudies>;
  /** A sentence that stays with a study or a trial, also while a study runs. Says what became of it. */
  note(target: Comparand, text: string): Promise<string>;
  /** Asks the store in SQL; values in `${}` are bound, never spliced. A notebook shows a table. */
  sql<Row = Record<string, Value>>(
    text: TemplateStringsArray,
    ...values: SqlValue[]
  ): Promise<SqlRows<Row>>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

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

/** Opens what is kept; a store for writing at once, so that another who writes is told at once. */
async function openKept(home: Home, store: LabStore, write: boolean) {
  await checkHome(home, write);
  const held = write ? await store.use() : null;
  return { held, artifacts: await openArtifactStore(home.artifacts, { store: home.store }) };
}

/** What a lab has opened. */
interface Opened {
  readonly options: LabOptions;
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
}

/**
 * Opens the lab: plugins, store, artifacts, and the door to Python. In a notebook a lab on the same
 * store that is open already comes back, as of a cell that is run twice.
 *
 * ```ts
 * await using lab = await openLab({ store: await Deno.makeTempDir() });
 * const studies = await lab.studies(); // none yet: lab.open({ model_name, dataset }) begins one
 * console.assert(studies.length === 0);
 * ```
 */
export async function openLab(options: LabOptions = {}): Promise<Lab> {
  const inNotebook = options.notebook ?? kernelBroadcast() !== null;
  return inNotebook ? await labAgain(options) : await makeLab(options);
}

const labAgain = labsAgain<Lab, LabOptions>(
  ({ store }) => findHome(Deno.env.toObject(), store).store,
  makeLab,
);

async function makeLab(options: LabOptions): Promise<Lab> {
  const home = findHome(Deno.env.toObject(), options.store, options.fresh);
  const folders = newFolders(home);
  const registry = await discoverPlugins();
  const mlflow = openLabMirror(home, options.mlflow, Deno.env.toObject(), options.onMirror);
  const store = openLabStore(home.store);
  const { held, artifacts } = await openKept(home, store, options.write === true)
    .catch(async (error: unknown) => {
      await mlflow[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      folders.removeUnused();
      throw error;
    });
  const stop = new AbortController();
  options.signal?.addEventListener("abort", () => stop.abort(), { once: true });
  const kept = { options, home, registry, mlflow, store, artifacts, stop };
  const sessions = sessionsAgain<StudySession>(options.notebook ?? kernelBroadcast() !== null);
  const opened: Opened = { ...kept, gguf: undefined, clients: new Map() };
  const close = async () => {
    await store.endStudies();
    stop.abort();
    await Promise.all([...opened.clients.values()].map((client) => client.close()));
    artifacts.close();
    await mlflow[Symbol.asyncDispose]();
    await held?.[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    folders.removeUnused();
  };
  return {
    home,
    registry,
    store,
    mlflow,
    async open(input, name) {
      const begin = async () => {
        const request = checkStudy(input, "study");
        return await sessionOf(opened, request, name ?? studyName(request, new Date()));
      };
      return await sessions(JSON.stringify([name, input]), begin);
    },
    async resume(study_id, limits = {}) {
      const { store: there, id } = await findStudy(await store.current(), study_id);
      const take = async () => {
        const { request, spec } = openedRecord(await there.journalOf(id), id);
        const again = resumedRequest(request, limits, id);
        return await sessionOf(opened, again, id, { limits, begun: spec });
      };
      return await sessions(JSON.stringify(["resume", id, limits]), take);
    },
    async view(study_id) {
      const { store: there, id } = await findStudy(await store.current(), study_id);
      return await viewStudy(there, id);
    },
    studies: async () => studyRows(await (await store.current())?.studies() ?? []),
    async compare(first, second) {
      const there = await recorded(store, "compare anything in");
      const compared = await compareAny(there, [first, second], (id) => viewStudy(there, id));
      return comparisonRows(compared);
    },
    report: async (studies, options) =>
      await showStudies(await recorded(store, "report over studies of"), studies, options),
    async note(target, text) {
      const there = await recorded(store, "note anything in");
      const name = idOf(target);
      return await takeNote(there.paths, name, await writeNote(there, name, text));
    },
    sql: (text, ...values) => asked(store, text, values),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The store, once there is something in it. */
async function recorded(store: LabStore, what: string): Promise<Store> {
  const there = await store.current();
  if (there !== null) return there;
  throw new UsageError(`Cannot ${what} the store ${store.root} as nothing is recorded there yet`);
}

async function asked<Row>(
  store: LabStore,
  text: TemplateStringsArray,
  values: readonly SqlValue[],
): Promise<SqlRows<Row>> {
  const statement = text.reduce((sum, part, i) => `${sum}$${i}${part}`);
  const there = await recorded(store, "ask");
  return sqlRows<Row>(await there.query(statement, { params: [...values] }));
}

function toolsWith(opened: Opened, registry: Registry, freedom: Freedom): Tools {
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

function setUpRunner(
  { options, stop }: Opened,
  tools: Tools,
  study_id: string,
  request: StudyRequest,
): StageRunner {
  return createStageRunner({
    client: tools.client,
    study_id,
    signal: stop.signal,
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

/** The plugins of a study, with the tasks that its dataset names; what cannot run here is refused. */
async function pluginsOf(opened: Opened, request: StudyRequest, study_id: string) {
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
  return plugins;
}

/** Looks at model and machine, infers the spec, makes the environments, and has a session then. */
async function sessionOf(
  opened: Opened,
  asked: StudyRequest,
  study_id: string,
  { limits = {}, begun }: { limits?: StudyLimits; begun?: Spec } = {},
): Promise<StudySession> {
  const { home, store, mlflow, stop, options } = opened;
  const offline = asked.offline ?? false;
  const plugins = await pluginsOf(opened, asked, study_id);
  if (asked.model_name === "demo") {
    const onProgress = options.onSetup ?? (() => {});
    opened.gguf = await ensureDemoModel(home.root, { offline, onProgress, signal: stop.signal });
  }
  const tools = toolsWith(opened, plugins, { offline, trusting: asked.trust_remote_code });
  const runner = setUpRunner(opened, tools, study_id, asked);
  const { facts, baseline, student } = await gatherFacts(tools, runner, asked, opened.gguf);
  const there = asked.samples.ladder === undefined ? null : await recordedStudies(store);
  const { request, assumptions } = await withEarlierLadder(asked, facts, study_id, there);
  const refusal = memoryRefusal(facts) ?? budgetRefusal(request, facts.device);
  if (refusal !== null) throw new UsageError(refusal);
  const compresses = request.evaluation === undefined;
  const inferred = (compresses ? inferSpec : evaluationSpec)(request, facts, plugins);
  const spec = { ...inferred, assumptions: [...inferred.assumptions, ...assumptions] };
  const samplers = studySamplers(request, plugins);
  const needed = neededEnvironments(plugins, begun ?? spec, compresses, samplers);
  await makeEnvironments(tools.client, needed);
  const hashes = Object.fromEntries(
    [...needed.keys()].map((name) => [name, usedHash(name, plugins.environments.get(name))]),
  );
  return openSession({
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
  });
}
