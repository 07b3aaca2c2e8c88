import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import {
  type Artifact,
  checkContext,
  type DatasetFacts,
  type Endpoint,
  type Facts,
  kindOf,
  layerCaches,
  ModelFacts,
  type RunRequest,
  UsageError,
} from "../../../core/mod.ts";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import { cachedFolder, isHubName } from "../serving/hub_config.ts";
import { packageSource } from "./source_closure.ts";
import { type CallRunner, refusal } from "./call_runner.ts";
import type { Tools } from "./workshop.ts";

/** Names have five digits, directories of models fewer files. */
const MOST_PARTS = 10_000;

/** What a study starts from: facts, and the uncompressed model as an artifact. */
export interface Start {
  readonly facts: Facts;
  readonly baseline: Artifact;
  /** The smaller model that the user named; null: none. */
  readonly student: Artifact | null;
}

/** The files of a model that llama.cpp split, by its rule of names; the path itself of a whole one. */
export function ggufParts(path: string): string[] {
  const named = /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(path);
  if (named === null) return [path];
  const [, stem, count = ""] = named;
  return Array.from(
    { length: Math.min(Number(count), MOST_PARTS) },
    (_, index) => `${stem}-${String(index + 1).padStart(5, "0")}-of-${count}.gguf`,
  );
}

async function contentHash(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/** A config.json of weights that are quantized, or of a model of which a part alone reads text. */
const CONVERTED =
  /"((quantization|compression)_config|(text|vision|audio|thinker)_config)"\s*:\s*\{/;

/** The files of a directory that is converted where it is imported; none: it is used where it lies. */
async function convertedFiles(directory: string): Promise<string[]> {
  const read = (name: string) => readFile(join(directory, name), "utf8").catch(() => "");
  const config = await read("config.json");
  const beside = await read("quantize_config.json") + await read("quant_config.json");
  if (!CONVERTED.test(config) && beside === "") return [];
  const names = (await readdir(directory)).filter((name) => /\.(safetensors|json)$/.test(name));
  return names.sort().map((name) => join(directory, name));
}

/** What converted weights depend on; null where a model is used where it lies, or is not here yet. */
export async function conversionKey(
  name: string,
  ggufOfDemo: string | undefined,
): Promise<string | null> {
  const source = () => packageSource("models", "checkpoint", "elsewhere", "calls/import_model.py");
  const keyOf = async (content: string) =>
    createHash("sha256").update(`${content} ${await source()}`).digest("hex");
  if (name === "tiny") return await keyOf("tiny");
  const gguf = name === "demo" ? ggufOfDemo : name.endsWith(".gguf") ? resolve(name) : undefined;
  if (gguf === undefined && isHubName(name) && !existsSync(name)) {
    // A commit's folder, whose name is its content's.
    const commit = await cachedFolder(name, Deno.env.toObject());
    return commit === null || (await convertedFiles(commit)).length === 0
      ? null
      : await keyOf(`${name} ${basename(commit)}`);
  }
  const parts = gguf === undefined ? await convertedFiles(name) : ggufParts(gguf);
  if (parts.length === 0) return null;
  if (parts.some((part) => !existsSync(part))) return null; // refused where it is read
  return await keyOf(await contentHash(parts));
}

/** A GGUF file of a repository on the hub, such as org/repository:Q4_K_M. */
const OF_THE_HUB = /^[\w.-]+\/[\w.-]+:[\w.-]+$/;

/** A path as Python needs it: absolute where the user named something on this disk, or meant to. */
export function modelName(model_name: string): string {
  const meant = /^\.{1,2}\/|\.gguf$/.test(model_name) && !OF_THE_HUB.test(model_name);
  return meant || existsSync(model_name) ? resolve(model_name) : model_name;
}

/** A model as the user named it, and the one whose tokenizer it must have. */
type NamedModel = Pick<RunRequest, "model_name" | "trust_remote_code"> & {
  readonly tokenizer_dir?: string;
};

async function runImport(
  runner: CallRunner,
  { model_name, trust_remote_code, tokenizer_dir }: NamedModel,
  output_dir: string,
): Promise<ModelFacts> {
  const imported = await runner("setup", {
    call: "import_model",
    model_name: modelName(model_name),
    output_dir,
    trust_remote_code,
    ...(tokenizer_dir === undefined ? {} : { tokenizer_dir }),
  }, "default");
  if (imported.ok) return imported.value;
  throw refusal(imported.failure);
}

/** Reads the model: converted once and cached, or used where it lies. */
export async function importModel(
  workshop: Pick<Tools, "caches">,
  runner: CallRunner,
  request: NamedModel,
  ggufOfDemo: string | undefined,
): Promise<ModelFacts> {
  const { model_name } = request;
  const keep = (key: string, make: (weights: string) => Promise<ModelFacts>) =>
    cachedModel(workshop, key, modelName(model_name), make);
  const known = await conversionKey(model_name, ggufOfDemo);
  const model = known && await keep(known, (weights) => runImport(runner, request, weights));
  if (model) return model;
  await using scratch = await workshop.caches.scratch();
  const weights = join(scratch.directory, "model");
  const facts = await runImport(runner, request, weights);
  if (!isWritten(weights)) return facts;
  // Of the hub it was not known before that it would be converted.
  const key = await conversionKey(model_name, ggufOfDemo) ?? basename(scratch.directory);
  const moved = await keep(key, async (place) => {
    await rename(weights, place);
    return facts;
  });
  return moved!; // it is written
}

const isWritten = (weights: string) => existsSync(join(weights, "config.json"));

/**
 * The model of a key under its name of now, whose weights `make` writes to an empty folder unless they are
 * there; null: it lies where it lay, as nothing of it was converted.
 */
async function cachedModel(
  { caches }: Pick<Tools, "caches">,
  key: string,
  model_name: string,
  make: (weights: string) => Promise<ModelFacts>,
): Promise<ModelFacts | null> {
  const { directory: folder } = await caches.cached("models", key, async (temporary) => {
    const weights = join(temporary, "model");
    await mkdir(weights);
    await writeFile(join(temporary, "facts.json"), JSON.stringify(await make(weights)));
  });
  const path = join(folder, "model");
  if (!isWritten(path)) return null;
  const facts = ModelFacts.parse(JSON.parse(await readFile(join(folder, "facts.json"), "utf8")));
  return { ...facts, model_name, path };
}

/** With what its layers keep of a text, where a context is asked for. */
async function withCaches(
  model: ModelFacts,
  { context_tokens }: Pick<RunRequest, "context_tokens">,
): Promise<ModelFacts> {
  if (context_tokens === undefined) return model;
  const config: unknown = JSON.parse(await readFile(join(model.path, "config.json"), "utf8"));
  return { ...model, layer_caches: layerCaches(config, model) };
}

/** Of a run that has no model: each of its members says where its own answers. */
const NOWHERE = { base_url: "", model: null };

/** A server says nothing of its model: names are given, counts and bytes are 0. */
function servedFacts(model_name: string, { base_url }: Pick<Endpoint, "base_url">): ModelFacts {
  return {
    model_name,
    source: "endpoint",
    path: base_url,
    revision: null,
    architecture: "not known",
    model_type: "not known",
    dtype: "not known",
    parameters: 0,
    embedding_parameters: 0,
    linear_parameters: 0,
    original_bytes: 0,
    fp16_bytes: 0,
    tied_embeddings: false,
    layers: 0,
    hidden_size: 0,
    intermediate_size: 0,
    heads: 0,
    kv_heads: 0,
    vocabulary: 0,
    context_length: 0,
    linear_shapes: [],
    group_sizes: [],
    grid: null,
    chat_template: false,
    custom_code: false,
  };
}

/** Stands for the model in the loop; never recorded. Its id keys the answers that are kept. */
function servedArtifact(
  { base_url, model }: Pick<Endpoint, "base_url" | "model">,
  created_at: string,
): Artifact {
  const key = createHash("sha256").update(JSON.stringify([base_url, model])).digest("hex");
  return {
    artifact_id: key.slice(0, 16),
    action_key: key,
    parent_id: null,
    action: null,
    location: "",
    files: [],
    size_bytes: 0,
    formula_bytes: null,
    weight_bits: null,
    activation_bits: null,
    verification: null,
    created_at,
  };
}

/**
 * Environments of programs that methods run beside: those that are made, and that of the runtime that
 * was asked for, which is made before the study.
 */
async function toolsHere({ registry, home }: Tools, { runtime }: RunRequest): Promise<string[]> {
  const asked = registry.runtimes.find(({ name }) => name === runtime)?.needs.environment;
  const names = new Set(registry.methods.flatMap(({ method }) => method.needs.tool ?? []));
  const here = await Promise.all([...names].map(async (name) => {
    const pins = registry.environments.get(name);
    return name === asked || await findEnvironment(name, home.root, pins) !== null;
  }));
  return [...names].filter((_, at) => here[at]);
}

/** Inspects machine and model beside the dataset, which was looked at before. */
export async function gatherFacts(
  workshop: Tools,
  runner: CallRunner,
  request: RunRequest,
  dataset: DatasetFacts,
  ggufOfDemo: string | undefined,
): Promise<Start> {
  const device = await runner("setup", {
    call: "inspect_device",
    disk_path: workshop.home.root,
    country: request.country ?? null,
  }, "default");
  if (!device.ok) throw refusal(device.failure);
  const kind = kindOf(request);
  const { endpoint = kind.needs.model ? undefined : NOWHERE } = kind.asks(request);
  if (endpoint !== undefined) {
    const model = servedFacts(request.model_name, endpoint);
    const baseline = servedArtifact(endpoint, workshop.timestamp());
    return { facts: { model, device: device.value, dataset }, baseline, student: null };
  }
  const model = await withCaches(await importModel(workshop, runner, request, ggufOfDemo), request);
  const tools = await toolsHere(workshop, request);
  const facts: Facts = { model, device: device.value, tools, dataset };
  checkContext(request, facts, workshop.registry.methods);
  const baseline = await adopted(workshop, model);
  const { student: model_name, trust_remote_code } = request;
  if (model_name === undefined) return { facts, baseline, student: null };
  const named = { model_name, trust_remote_code, tokenizer_dir: model.path };
  const student = await withCaches(await importModel(workshop, runner, named, ggufOfDemo), request);
  if (student.parameters >= model.parameters) {
    throw new UsageError(
      `Cannot take ${model_name} as the student: it has ${student.parameters} parameters, the ` +
        `model ${model.parameters}; name a smaller one`,
    );
  }
  return { facts: { ...facts, student }, baseline, student: await adopted(workshop, student) };
}

/** A model that lies ready as an artifact without a parent. */
function adopted(workshop: Tools, model: ModelFacts): Promise<Artifact> {
  return workshop.artifacts.adopt(model.path, {
    action_key: createHash("sha256").update(`import ${model.path}`).digest("hex"),
    parent_id: null,
    action: null,
    formula_bytes: model.fp16_bytes,
    weight_bits: null,
    activation_bits: null,
    model,
    verification: null,
    created_at: workshop.timestamp(),
  });
}
