import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../artifacts/action_key.ts";
import { sha256Text } from "../storage/file_hash.ts";
import { stageSource } from "./source_closure.ts";

/** Keys of config.json that say how and by whom weights are stored: no graph depends on them. */
const OF_STORAGE = new Set([
  "_name_or_path",
  "dtype",
  "quantization_config",
  "torch_dtype",
  "transformers_version",
]);

/** What of a model's configuration decides its graph: widths, layers, tied or not, activations. */
export function architectureOf(config: Readonly<Record<string, unknown>>): string {
  const own = Object.entries(config).filter(([name]) => !OF_STORAGE.has(name));
  return sha256Text(canonicalJson(Object.fromEntries(own)));
}

/**
 * The name of a model's graph in the cache. Models of one architecture share it, whoever asks first;
 * a narrower or shallower one has its own. Throws where config.json is not readable.
 */
export async function graphKey(modelDir: string, environmentHash: string): Promise<string> {
  const config = JSON.parse(await readFile(join(modelDir, "config.json"), "utf8"));
  return [architectureOf(config), await stageSource("export_graph.py"), environmentHash].join("-");
}
