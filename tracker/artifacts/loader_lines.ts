import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Artifact } from "../../core/mod.ts";
import { PROJECT_ROOT } from "../ground/home.ts";

/** What decides which program can load a checkpoint. */
const Config = z.object({
  tie_word_embeddings: z.boolean().default(true),
  quantization_config: z.object({
    config_groups: z.record(z.string(), z.object({ targets: z.array(z.string()) })).default({}),
  }).optional(),
});

/** True where the embedding is packed and shared with the head: transformers cannot tie it. */
async function packsTiedEmbedding(location: string): Promise<boolean> {
  const config = Config.parse(JSON.parse(await readFile(join(location, "config.json"), "utf8")));
  const groups = Object.values(config.quantization_config?.config_groups ?? {});
  const targets = groups.flatMap((group) => group.targets);
  return config.tie_word_embeddings && targets.some((name) => /(^|\.)(embed|wte)/.test(name));
}

function ownLoader(places: string): string[] {
  return [
    "import sys",
    `sys.path.insert(0, "${join(PROJECT_ROOT, "python-backends")}")`,
    "from pare_backends.checkpoint import load_dequantized",
    "",
    `model, tokenizer = load_dequantized(${places})`,
  ];
}

/** The lines that run a GGUF file in llama.cpp's fork, which npm has no build of: pare's server has its wheel. */
export function forkLines(folder: string, trial_id: string): string {
  const file = join(folder, "model.gguf");
  return "# ik_llama.cpp, as https://github.com/ikawrakow/ik_llama.cpp says how to build it\n" +
    `llama-cli -m ${file} -rtr -p "Hello"\n` +
    "# where it is not built: served from the wheel that was timed\n" +
    `npx -y deno task pare serve ${trial_id} --with ik_llama.cpp`;
}

/** The lines that run what `pare convert` wrote, by what it wrote; `folder`: where. */
export function convertedLines(format: string, folder = "."): string {
  if (format === "gguf") {
    const file = join(folder, "model.gguf");
    return `# llama.cpp\nllama-cli -m ${file} -p "Hello"\n` +
      `# where it is not installed: a build of it from npm\n` +
      `npx -y node-llama-cpp chat --prompt "Hello" ${file}`;
  }
  const [from, loader, options] = format === "openvino"
    ? ["optimum.intel", "OVModelForCausalLM", ""]
    : ["transformers", "AutoModelForCausalLM", ', dtype="auto"'];
  return [
    ...(format === "openvino"
      ? [`from ${from} import ${loader}`, "from transformers import AutoTokenizer"]
      : [`from ${from} import ${loader}, AutoTokenizer`]),
    "",
    `model = ${loader}.from_pretrained("${folder}"${options})`,
    `tokenizer = AutoTokenizer.from_pretrained("${folder}")`,
  ].join("\n");
}

/** The lines that load a written checkpoint in Python; `weights`: those that a setting names. */
export async function loaderLines(
  { location, loader, weights_id }: Pick<Artifact, "location" | "loader" | "weights_id">,
  weights?: Pick<Artifact, "location">,
): Promise<string> {
  if (weights_id !== undefined) {
    const place = weights?.location ?? `<the directory of the artifact ${weights_id}>`;
    return [
      "# a setting: pare's own loader gives the model of these weights, running as it says",
      ...ownLoader(`"${location}", "${place}"`),
    ].join("\n");
  }
  // Old records do not say whose loader takes the directory.
  const own = loader === undefined ? await packsTiedEmbedding(location) : loader === "pare";
  if (own) {
    return [
      "# transformers alone does not give what was evaluated, pare's own loader does: see its notes",
      ...ownLoader(`"${location}"`),
    ].join("\n");
  }
  return [
    "# pip install transformers compressed-tensors",
    "from transformers import AutoModelForCausalLM, AutoTokenizer",
    "",
    `model = AutoModelForCausalLM.from_pretrained("${location}")`,
    `tokenizer = AutoTokenizer.from_pretrained("${location}")`,
  ].join("\n");
}
