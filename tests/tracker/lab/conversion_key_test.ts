import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { conversionKey, importModel } from "../../../tracker/lab/runner/gather_facts.ts";
import { smallFacts } from "../../core/spec_facts.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

Deno.test("a split GGUF model is converted anew where any of its files changed", async () => {
  const folder = temporaryFolder("parts");
  const parts = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"].map((name) =>
    join(folder, name)
  );
  for (const part of parts) await writeFile(part, "GGUF");
  const keys = await Promise.all(parts.map((part) => conversionKey(part, undefined)));
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], null);
  await writeFile(parts[1] ?? "", "GGUF other");
  assert.notEqual(await conversionKey(parts[0] ?? "", undefined), keys[0]);
  await rm(parts[1] ?? "");
  assert.equal(await conversionKey(parts[0] ?? "", undefined), null);
});

const CONFIGS = {
  plain: { model_type: "llama" },
  sees: { model_type: "gemma3", text_config: { model_type: "gemma3_text" } },
  sees_of_before: { model_type: "qwen2_5_vl", hidden_size: 64, vision_config: { depth: 2 } },
  packed: { model_type: "llama", quantization_config: { quant_method: "gptq" } },
};

Deno.test("a model of which a part alone reads text is converted, as a quantized one is", async () => {
  const keys = new Map<string, string | null>();
  for (const [name, config] of Object.entries(CONFIGS)) {
    const folder = temporaryFolder(name);
    await writeFile(join(folder, "config.json"), JSON.stringify(config));
    keys.set(name, await conversionKey(folder, undefined));
    await writeFile(join(folder, "model.safetensors"), "other weights");
    const again = await conversionKey(folder, undefined);
    assert.equal(again === keys.get(name), again === null, name);
  }
  assert.equal(keys.get("plain"), null);
  assert.equal(new Set(keys.values()).size, 4);
});

Deno.test("a model of the hub is taken apart once a commit", async () => {
  const hub = temporaryFolder("hub");
  const before = Deno.env.get("HF_HUB_CACHE");
  Deno.env.set("HF_HUB_CACHE", hub);
  const asked: string[] = [];
  const runner = (async (_trial: string, call: { output_dir: string }) => {
    asked.push(call.output_dir);
    const folder = join(hub, "models--forest--sees");
    const commit = join(folder, "snapshots", "0123456789abcdef");
    await mkdir(commit, { recursive: true });
    await mkdir(join(folder, "refs"), { recursive: true });
    await writeFile(join(folder, "refs", "main"), "0123456789abcdef");
    await writeFile(join(commit, "config.json"), JSON.stringify(CONFIGS.sees));
    await writeFile(join(commit, "model.safetensors"), "weights");
    await mkdir(call.output_dir, { recursive: true });
    await writeFile(join(call.output_dir, "config.json"), "{}");
    return { ok: true, value: { ...smallFacts().model, path: call.output_dir } };
  }) as unknown as CallRunner;
  try {
    const caches = openFolderCache(temporaryFolder("cache"));
    const request = { model_name: "forest/sees", trust_remote_code: false };
    const first = await importModel({ caches }, runner, request, undefined);
    const second = await importModel({ caches }, runner, request, undefined);
    assert.equal(asked.length, 1);
    assert.equal(first.path, second.path);
    assert.ok(existsSync(join(first.path, "config.json")));
    assert.ok(!existsSync(asked[0]!), "nothing is left where it was made");
  } finally {
    if (before === undefined) Deno.env.delete("HF_HUB_CACHE");
    else Deno.env.set("HF_HUB_CACHE", before);
  }
});

Deno.test("a folder that says of parts, and is used whole, is where it lies now", async () => {
  const place = temporaryFolder("whole");
  await writeFile(join(place, "config.json"), JSON.stringify(CONFIGS.sees));
  await writeFile(join(place, "model.safetensors"), "weights");
  const moved = join(temporaryFolder("elsewhere"), "moved");
  const runner = ((_trial: string, { model_name }: { model_name: string }) =>
    Promise.resolve({
      ok: true,
      value: { ...smallFacts().model, model_name, path: model_name },
    })) as unknown as CallRunner;
  const caches = openFolderCache(temporaryFolder("cache"));
  const asked = { model_name: place, trust_remote_code: false };
  assert.equal((await importModel({ caches }, runner, asked, undefined)).path, place);
  await rename(place, moved);
  const again = await importModel({ caches }, runner, { ...asked, model_name: moved }, undefined);
  assert.deepEqual([again.path, again.model_name], [moved, moved]);
});
