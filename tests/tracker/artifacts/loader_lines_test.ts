import assert from "node:assert/strict";
import { join } from "node:path";
import { loaderLines } from "../../../tracker/artifacts/loader_lines.ts";

async function linesFor(
  targets: string[],
  tie_word_embeddings: boolean,
  loader?: "transformers" | "pare",
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const quantization_config = { config_groups: { group_0: { targets } } };
    const config = { tie_word_embeddings, quantization_config };
    await Deno.writeTextFile(join(folder, "config.json"), JSON.stringify(config));
    return await loaderLines({ location: folder, loader });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("loaderLines() takes transformers where it can load the checkpoint", async () => {
  const lines = await linesFor(["model.layers.0.mlp.up_proj"], true);
  assert.match(lines, /AutoModelForCausalLM\.from_pretrained/);
  assert.match(await linesFor(["model.embed_tokens"], false), /AutoModelForCausalLM/);
});

Deno.test("loaderLines() takes pare's own loader for a packed embedding that the head shares", async () => {
  const lines = await linesFor(["model.layers.0.mlp.up_proj", "model.embed_tokens"], true);
  assert.match(lines, /load_dequantized\(/);
  assert.doesNotMatch(lines, /AutoModelForCausalLM/);
});

Deno.test("loaderLines() takes the loader that the artifact's record names", async () => {
  const conv1d = ["transformer.h.0.attn.c_attn"];
  assert.match(await linesFor(conv1d, true, "pare"), /load_dequantized\(/);
  assert.match(await linesFor(conv1d, true, "transformers"), /AutoModelForCausalLM/);
  // The record knows of a copy of the embedding that the head keeps.
  assert.match(
    await linesFor(["model.embed_tokens"], true, "transformers"),
    /AutoModelForCausalLM/,
  );
});
