import { rmSync } from "node:fs";
import type { Engine, Registry, RunRequest, StudyEvent } from "../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../python-backends/client.ts";
import { pinsHash } from "../../python-backends/environments/environment_pins.ts";
import { OFFLINE_VARIABLES } from "../../python-backends/offline.ts";
import type { ArtifactStore } from "../artifacts/artifact_store.ts";
import { openFolderCache } from "../artifacts/folder_cache.ts";
import type { LabMirror } from "../exchange/mlflow/lab_mirror.ts";
import type { Home } from "../ground/home.ts";
import { createWorkerClient, type WorkersAsked } from "../jobs/workers/worker_client.ts";
import type { LabStore } from "../lab/lab_store.ts";
import { ACCOUNT_VARIABLE } from "./experiments/account.ts";
import { type CallRunner, createCallRunner } from "../lab/runner/call_runner.ts";
import type { EngineAsked } from "../jobs/workers/lab_engine.ts";
import type { Tools } from "../lab/runner/workshop.ts";
import { tellEnvironment } from "../show/terminal/tell_environment.ts";

/** What the set-up of a lab's studies is told, and tells. */
export interface SetUpOptions extends EngineAsked {
  /** Bytes that artifacts may fill. */
  readonly maxDiskBytes?: number;
  /** The command that a report shows. */
  readonly command?: string;
  /** The command that goes on with a study in the same way; default: `pare resume` with its id. */
  readonly goOn?: (study_id: string) => string;
  /**
   * Whether the original is timed in every runtime to choose one; default: yes. "kept", where nothing
   * will run, takes what an earlier study timed here and makes no environment; no: neither is taken.
   */
  readonly chooseRuntimes?: "yes" | "kept" | "no";
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
  /** A worker that may run a model's own code, or has a plugin's pins, is never another study's. */
  readonly clients: Map<string, BackendClient>;
  /** Where its workers write what they spend, and read how much they may; absent: nowhere. */
  readonly account?: string;
  /** Whose machines run the calls of its studies; null: this process does. */
  readonly engine: () => Promise<Engine | null>;
  /** What is to be worked with now: where this was closed, a notebook has it opened again. */
  readonly now: () => Promise<Opened>;
}

/** The tools of a study that is set up, and what runs calls for it that belong to no trial. */
export function studyTools(
  { home, artifacts, clients, options, stop, account }: Opened,
  setting_up: AbortSignal,
  study_id: string,
  registry: Registry,
  { offline = false, trust_remote_code = false, stall_minutes }: Pick<
    RunRequest,
    "offline" | "trust_remote_code" | "stall_minutes"
  >,
  workers: WorkersAsked | null,
): { tools: Tools; runner: CallRunner } {
  const { environments } = registry;
  const hashOf = (name: string) => pinsHash(name, environments.get(name));
  const pins = [...environments].map(([name, folder]) => [folder, hashOf(name)]);
  const elsewhere = workers === null ? null : [workers.count, workers.slots, workers.given];
  const kind = JSON.stringify([offline, trust_remote_code, pins, account, elsewhere]);
  const opening = {
    home: home.root,
    offline,
    pins_folders: environments,
    signal: stop.signal,
    env: {
      ...(trust_remote_code ? { PARE_TRUST_REMOTE_CODE: "1" } : {}),
      ...(offline ? OFFLINE_VARIABLES : {}),
      ...(account === undefined ? {} : { [ACCOUNT_VARIABLE]: account }),
    },
    onEnvironmentProgress: tellEnvironment(options),
  };
  const say = options.onSetup ?? (() => {});
  const client = clients.get(kind) ??
    (workers === null
      ? createBackendClient(opening)
      : createWorkerClient(workers, { ...opening, say }));
  clients.set(kind, client);
  const timestamp = () => new Date().toISOString();
  const tools: Tools = {
    ...{ home, registry, client, artifacts, timestamp },
    caches: openFolderCache(home.cache),
    environmentHash: (name) => Promise.resolve(hashOf(name)),
    maxDiskBytes: options.maxDiskBytes ?? null,
  };
  const runner = createCallRunner({
    ...{ client, study_id, stall_minutes, timestamp, signal: setting_up },
    onEvent: options.onEvent ?? (() => {}),
    record: () => Promise.resolve(), // set-up belongs to no trial
    keepLog: (_trial, _call, path) => {
      rmSync(path, { force: true });
      return Promise.resolve(null);
    },
  });
  return { tools, runner };
}
