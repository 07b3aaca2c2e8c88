import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Artifact, type ModelFacts, UsageError } from "../../core/mod.ts";
import type { BackendClient } from "../../python-backends/client.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { openArtifactStore } from "../artifacts/artifact_store.ts";
import type { FolderCache } from "../artifacts/folder_cache.ts";
import { lastArtifact } from "../exchange/conversion/convert_source.ts";
import type { Home } from "../ground/home.ts";
import type { CallRunner } from "../lab/runner/call_runner.ts";
import { importModel } from "../lab/runner/gather_facts.ts";

/** What is served: held until it is given back, so that no gc takes it meanwhile. */
export interface ServedSource extends Disposable {
  /** By which it is asked for: a trial's id, or the model as it was named. */
  readonly name: string;
  readonly artifact: Pick<
    Artifact,
    "artifact_id" | "location" | "changes" | "weights_id" | "action"
  >;
  /** Of a setting: where its weights lie. */
  readonly weights_dir?: string;
  /** Null: an old artifact that does not say. */
  readonly model: ModelFacts | null;
}

const TRIAL = /^(.+\/)?t\d+$/;

/** What a source is made of. */
export interface SourceTools {
  readonly home: Home;
  readonly client: BackendClient;
  readonly caches: FolderCache;
}

/** Whether a name is that of a trial, such as `STUDY/t03`. */
export function isTrial(name: string): boolean {
  return TRIAL.test(name) && !existsSync(name);
}

/** A trial's artifact, or a model: the demo's, a folder, a GGUF file, a name of the hub. */
export async function servedSource(tools: SourceTools, name: string): Promise<ServedSource> {
  if (isTrial(name)) return await trialSource(tools.home, name);
  const { home, client } = tools;
  const gguf = name === "demo"
    ? await ensureDemoModel(home.root, { onProgress: (line) => console.error(line) })
    : undefined;
  const request = { model_name: name, trust_remote_code: false };
  const model = await importModel(tools, callRunner(client), request, gguf);
  return {
    name: existsSync(name) ? resolve(name) : name,
    artifact: { artifact_id: filesKey(model.path), location: model.path, action: null },
    model,
    [Symbol.dispose]() {},
  };
}

/** Runs a client's calls for nobody's trial. */
export function callRunner(client: BackendClient): CallRunner {
  return (_trial, request, environment) => client.run(request, { environment });
}

/** Stands for a folder's content, as nobody has written down its checksums. */
function filesKey(folder: string): string {
  const files = readdirSync(folder).sort().map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return [name, size, mtimeMs];
  });
  return createHash("sha256").update(JSON.stringify([folder, files])).digest("hex").slice(0, 16);
}

async function trialSource(home: Home, name: string): Promise<ServedSource> {
  if (!existsSync(home.store)) {
    throw new UsageError(`Cannot serve ${name} as the store ${home.store} does not exist`);
  }
  const { trial, of } = await lastArtifact(home, name, "serve");
  const artifacts = await openArtifactStore(home.artifacts);
  const dispose = () => artifacts.close();
  const held = await artifacts.get(of.artifact_id);
  const weights = held === null ? null : await artifacts.weightsOf(held);
  if (held === null || weights === null) {
    dispose();
    throw new UsageError(
      `Cannot serve ${trial} as its files are gone or changed (${of.location}): run its strategy ` +
        "again, which makes them anew",
    );
  }
  return {
    name: trial,
    artifact: { ...held, changes: await allChanges(artifacts.get, held) },
    ...(held.weights_id === undefined ? {} : { weights_dir: weights.location }),
    model: held.model ?? weights.model ?? null,
    [Symbol.dispose]: dispose,
  };
}

/** What the actions of its chain did, the last first. */
async function allChanges(
  get: (id: string) => Promise<Artifact | null>,
  artifact: Artifact,
): Promise<NonNullable<Artifact["changes"]>> {
  const own = artifact.changes ?? [];
  const parent = artifact.parent_id === null ? null : await get(artifact.parent_id);
  return parent === null ? own : [...own, ...await allChanges(get, parent)];
}
