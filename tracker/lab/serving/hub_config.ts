import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "../../../core/errors.ts";
import { cacheFolder } from "../../../python-backends/home.ts";
import { boundedText } from "../../ground/http/bounded.ts";
import { withoutSecrets } from "../../ground/http/without_secrets.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the Hugging Face libraries keep files, token and all else. */
function hubHome(env: Environment): string {
  return resolve(env["HF_HOME"] || join(cacheFolder(env), "huggingface"));
}

/** Where they keep what they fetched. */
function hubCache(env: Environment): string {
  return resolve(env["HF_HUB_CACHE"] || join(hubHome(env), "hub"));
}

/** What a container must see of both. */
export function hubFolders(env: Environment): { hub_cache: string; hub_files?: string } {
  const [hub_cache, hub_files] = [hubHome(env), hubCache(env)];
  return hub_files === join(hub_cache, "hub") ? { hub_cache } : { hub_cache, hub_files };
}

const NAME = /^[\w.-]{1,96}\/[\w.-]{1,96}$/;

/** Whether a text may be a model's name on the hub: an owner and a name, no path. */
export function isHubName(name: string): boolean {
  return NAME.test(name) && !name.includes("..") && !name.startsWith(".");
}

/** The folder of the cache in which a model's newest known files lie; null: none do. */
export async function cachedFolder(name: string, env: Environment): Promise<string | null> {
  const folder = join(hubCache(env), `models--${name.replace("/", "--")}`);
  const commit = await readFile(join(folder, "refs", "main"), "utf8").catch(() => "");
  if (!/^[0-9a-f]{7,64}$/.test(commit.trim())) return null;
  const snapshot = join(folder, "snapshots", commit.trim());
  return existsSync(join(snapshot, "config.json")) ? snapshot : null;
}

const OFFLINE = ["PARE_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"] as const;
const SECONDS = 15;
/** What the hub's refusal means. A token is never part of it. */
function refused(name: string, status: number, token: string | undefined): string {
  if (status === 401 || status === 403) {
    return `Cannot read the config of ${name}: it is gated or does not exist, and HF_TOKEN ` +
      `${token === undefined ? "is not set" : "has no access to it"}`;
  }
  return status === 404
    ? `Unknown model "${name}": no folder here has that name, and the hub has no config.json of it`
    : `Cannot read the config of ${name}: the hub answers with status ${status}; give a folder instead`;
}

/**
 * A small JSON file of a model on the hub: never a weight. Null: `may_lack` and it is not there.
 *
 * @throws UsageError the network is kept out, or the hub refuses
 */
export async function fetchHubFile(
  name: string,
  file: "config.json" | "hf_quant_config.json",
  env: Environment,
): Promise<unknown> {
  const out = OFFLINE.find((variable) => /^(1|true|yes|on)$/i.test(env[variable] ?? ""));
  if (out !== undefined) {
    throw new UsageError(
      `Cannot read the config of ${name}: it is no folder, not in ${
        hubCache(env)
      }, and ${out} keeps the hub out`,
    );
  }
  const token = env["HF_TOKEN"];
  const host = (env["HF_ENDPOINT"] || "https://huggingface.co").replace(/\/+$/, "");
  try {
    const answer = await fetch(`${host}/${name}/resolve/main/${file}`, {
      headers: token === undefined || token === "" ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(SECONDS * 1000),
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      if (file !== "config.json") return null;
      throw new UsageError(refused(name, answer.status, token));
    }
    return JSON.parse(withoutSecrets(await boundedText(answer), token));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const why = error instanceof Error ? error.message.slice(0, 160) : String(error);
    throw new UsageError(
      `Cannot read the config of ${name} from ${host}: ${why}. Give a folder with its config.json`,
    );
  }
}
