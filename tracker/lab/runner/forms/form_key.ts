import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Runtime } from "../../../../core/mod.ts";
import { canonicalJson } from "../../../artifacts/action_key.ts";
import { sha256Text } from "../../../ground/storage/file_hash.ts";
import type { FormSource } from "../speed_input.ts";
import { formSource } from "../source_closure.ts";

/** Keys of config.json that say how and by whom weights are stored: no architecture depends on them. */
const OF_STORAGE = new Set([
  "_model_name_or_path",
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

/** What the name of a runtime's forms of one owner begins with; how they are made comes after it. */
export function formLabel(runtime: string, owner: string): string {
  return `${runtime}-${owner.slice(0, 32)}`;
}

/**
 * The name of an artifact's form in the cache. Models of one architecture share it where the form
 * holds no weights, whoever asks first; a narrower or shallower one has its own. Throws where
 * config.json is not readable.
 */
export async function formKey(
  runtime: Runtime,
  { artifact_id, location }: FormSource,
  environmentHash: (environment: string) => Promise<string>,
  precision?: string,
): Promise<string> {
  const { name, form } = runtime;
  if (form === null) throw new Error(`${name} has no form: it loads the checkpoint itself`);
  const owner = form.shared === "artifact"
    ? artifact_id
    : architectureOf(JSON.parse(await readFile(join(location, "config.json"), "utf8")));
  const how = [
    artifact_id,
    owner,
    await formSource(runtime),
    await environmentHash(form.environment),
  ];
  if (form.shared === "architecture") how.shift();
  else if (precision !== undefined) how.push(precision);
  return `${formLabel(name, owner)}-${sha256Text(how.join("-")).slice(0, 32)}`;
}
