import { existsSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { quotedText, UsageError } from "../../../core/errors.ts";
import { readText, requireFile } from "../../ground/storage/plain_file.ts";
import { cachedFolder, fetchHubFile, isHubName } from "./hub_config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A model as a plan needs it: its config and, where its files are here, their bytes. */
export interface PlannedModel {
  /** As a server takes it. */
  readonly model: string;
  readonly config: Record<string, unknown>;
  readonly local: boolean;
  readonly stored_bytes?: number;
  /** It has the manifest of an artifact of pare's. */
  readonly artifact?: boolean;
}

/** Bytes of a config. */
const MOST_CONFIG = 10_000_000;

/** Python writes numbers that JSON has not; none of them is one the sums read. */
function readConfig(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readText(path, MOST_CONFIG);
  } catch (error) {
    throw new UsageError(`Cannot plan by ${path}: ${(error as Error).message}`);
  }
  try {
    const value: unknown = JSON.parse(text.replaceAll(/\b-?Infinity\b|\bNaN\b/g, "null"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(
      `Cannot plan by ${path}: it is no JSON (${quotedText((error as Error).message, 200)})`,
    );
  }
  throw new UsageError(`Cannot plan by ${path}: it is no JSON object`);
}

/** A quantization that libraries write beside the config counts where the config has none. */
function withQuantization(
  config: Record<string, unknown>,
  beside: unknown,
): Record<string, unknown> {
  const has = config["quantization_config"] ?? config["compression_config"];
  return has === undefined && beside !== null && beside !== undefined
    ? { ...config, quantization_config: beside }
    : config;
}

const HEADER_BYTES = 8;
const MOST_HEADER = 100 * 1024 ** 2;

/** Bytes of the tensors of a safetensors file, by its header: nothing else is read. */
async function tensorBytes(path: string): Promise<number> {
  requireFile(path);
  const file = await open(path);
  try {
    const { buffer } = await file.read(new Uint8Array(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const header = Number(new DataView(buffer.buffer).getBigUint64(0, true));
    const { size } = await file.stat();
    if (header > Math.min(size - HEADER_BYTES, MOST_HEADER)) {
      throw new UsageError(`Cannot plan by ${path}: it is no safetensors file, or it is cut off`);
    }
    return size - HEADER_BYTES - header;
  } finally {
    await file.close();
  }
}

async function fileBytes(folder: string): Promise<number | undefined> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".safetensors"));
  if (names.length === 0) return undefined;
  const sizes = await Promise.all(names.map((name) => tensorBytes(join(folder, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A folder with a config.json: a checkpoint, or any artifact of pare's. */
async function ofFolder(folder: string, model: string, local: boolean): Promise<PlannedModel> {
  const path = join(folder, "config.json");
  const config = readConfig(path);
  const beside = ["hf_quant_config.json", "quantize_config.json", "quant_config.json"]
    .map((name) => join(folder, name)).filter((one) => existsSync(one)).map(readConfig);
  const stored_bytes = await fileBytes(folder);
  return {
    ...{ model, local, config: withQuantization(config, beside[0]) },
    ...(stored_bytes === undefined ? {} : { stored_bytes }),
    ...(existsSync(join(folder, "manifest.json")) ? { artifact: true } : {}),
  };
}

/** A config.json alone, for a model that is not here. */
function ofFile(path: string): PlannedModel {
  return { model: path, local: true, config: readConfig(path) };
}

async function ofHub(name: string, env: Environment): Promise<PlannedModel> {
  const cached = await cachedFolder(name, env);
  if (cached !== null) {
    const { stored_bytes: _, ...found } = await ofFolder(cached, name, false); // it may be half there
    return found;
  }
  const config = await fetchHubFile(name, "config.json", env) as Record<string, unknown>;
  const beside = /fp4|fp8/i.test(name) && config["quantization_config"] === undefined
    ? await fetchHubFile(name, "hf_quant_config.json", env)
    : null;
  return { model: name, local: false, config: withQuantization(config, beside) };
}

/** A trial or an artifact's id of pare's own: the store is opened for this alone. */
async function ofStore(
  name: string,
  store: string | undefined,
  env: Environment,
): Promise<PlannedModel> {
  const { findHome } = await import("../../ground/home.ts");
  const home = findHome(env, store);
  const folder = join(home.artifacts, name);
  if (/^[\w-]+$/.test(name) && existsSync(join(folder, "config.json"))) {
    return await ofFolder(folder, folder, true);
  }
  if (!existsSync(home.store)) {
    throw new UsageError(
      `Cannot plan for "${name}": it is no folder or file with a config, no name of the hub such as ` +
        `Qwen/Qwen3-32B, and the store ${home.store} does not exist`,
    );
  }
  const { artifactFolder } = await import("./trial_folder.ts");
  const found = await artifactFolder(home, name);
  return await ofFolder(found, found, true);
}

/**
 * The model that a name means: a folder, a config.json, a name of the hub, a trial such as `STUDY/t03`
 * or an artifact's id. Weights are never read, and never fetched.
 *
 * @throws UsageError none of them is there, or the hub refuses
 */
export async function plannedModel(
  name: string,
  { store, env }: { readonly store?: string; readonly env: Environment },
): Promise<PlannedModel> {
  if (existsSync(join(name, "config.json"))) {
    return await ofFolder(resolve(name), resolve(name), true);
  }
  if (name.endsWith(".json") && existsSync(name)) return ofFile(name);
  if (/\/t\d+$|^t\d+$/.test(name)) return await ofStore(name, store, env);
  return isHubName(name) ? await ofHub(name, env) : await ofStore(name, store, env);
}
