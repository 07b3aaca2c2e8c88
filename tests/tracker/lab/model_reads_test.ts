import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StudyRequest } from "../../../core/mod.ts";
import { modelReads } from "../../../tracker/lab/model_reads.ts";

const asked = (model_name: string, more: object = {}) =>
  StudyRequest.parse({ model_name, dataset: "demo", ...more });

/** A file of GGUF with those keys, a value as [its type, its bytes]. */
function gguf(keys: readonly (readonly [string, number, readonly number[]])[]): Uint8Array {
  const number = (value: number, bytes: number) =>
    Array.from({ length: bytes }, (_, n) => Math.floor(value / 2 ** (8 * n)) % 256);
  const text = (said: string) => [...number(said.length, 8), ...new TextEncoder().encode(said)];
  return new Uint8Array([
    ...new TextEncoder().encode("GGUF"),
    ...[...number(3, 4), ...number(0, 8), ...number(keys.length, 8)],
    ...keys.flatMap(([key, type, bytes]) => [...text(key), ...number(type, 4), ...bytes]),
  ]);
}

const TEXT = (
  said: string,
) => [said.length, ...Array(7).fill(0), ...new TextEncoder().encode(said)];
const ARCHITECTURE = ["general.architecture", 8, TEXT("llama")] as const;
const LENGTH = ["llama.context_length", 4, [0, 8, 0, 0]] as const;
/** Two texts, and three floats. */
const ARRAYS = [
  ["general.tags", 9, [8, 0, 0, 0, 2, ...Array(7).fill(0), ...TEXT("a"), ...TEXT("bc")]],
  ["general.some", 9, [6, 0, 0, 0, 3, ...Array(7).fill(0), ...Array(12).fill(1)]],
] as const;

Deno.test("what a GGUF file reads is known of its first bytes, whatever stands before it", async () => {
  const folder = await Deno.makeTempDir();
  const reads = async (bytes: Uint8Array, name = "m.gguf") => {
    await writeFile(join(folder, name), bytes);
    return await modelReads(asked(join(folder, name)));
  };
  try {
    assert.equal(await reads(gguf([ARCHITECTURE, LENGTH])), 2048);
    assert.equal(await reads(gguf([ARCHITECTURE, ...ARRAYS, LENGTH])), 2048);
    const wide = ["llama.context_length", 10, [0, 8, 0, 0, 0, 0, 0, 0]] as const;
    assert.equal(await reads(gguf([ARCHITECTURE, wide])), 2048);
    assert.equal(await reads(gguf([["general.architecture", 8, TEXT("gpt2")], LENGTH])), undefined);
    assert.equal(
      await reads(gguf([ARCHITECTURE, ["x", 99, []], LENGTH])),
      undefined,
      "no such type",
    );
    assert.equal(await reads(gguf([ARCHITECTURE, LENGTH]).subarray(0, 70)), undefined, "cut off");
    const endless = ["x", 9, [9, 0, 0, 0, ...Array(8).fill(255)]] as const;
    assert.equal(
      await reads(gguf([ARCHITECTURE, endless, LENGTH])),
      undefined,
      "a count that lies",
    );
    assert.equal(await reads(new TextEncoder().encode("no model")), undefined);
    assert.equal(await modelReads(asked(join(folder, "none.gguf"))), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a hub's config is asked only where it could refuse something, and is not fetched twice", async () => {
  const cache = await Deno.makeTempDir();
  const config = JSON.stringify({
    ...{ model_type: "llama", hidden_size: 8, num_hidden_layers: 2, num_attention_heads: 2 },
    ...{ vocab_size: 9, intermediate_size: 8, max_position_embeddings: 512 },
  });
  const paths: string[] = [];
  const server = Deno.serve({ port: 0, onListen: () => {} }, (request) => {
    paths.push(new URL(request.url).pathname);
    return request.url.includes("/gone/")
      ? new Response("", { status: 404 })
      : new Response(config);
  });
  const env = { HF_HUB_CACHE: cache, HF_ENDPOINT: `http://localhost:${server.addr.port}` };
  const reads = (name: string, more: object = {}) => modelReads(asked(name, more), env);
  const context = { context_tokens: 1024 };
  try {
    assert.equal(await reads("a/b"), undefined);
    assert.equal(await reads("a/b", { ...context, offline: true }), undefined);
    assert.deepEqual(paths, []);
    assert.equal(await reads("a/b", context), 512);
    assert.equal(await reads("a/b", { sweep: { methods: ["snapkv"], budgets: [16] } }), 512);
    assert.equal(await reads("gone/b", context), undefined, "refused where the model is read");
    assert.deepEqual(
      paths,
      ["a/b", "a/b", "gone/b"].map((one) => `/${one}/resolve/main/config.json`),
    );

    const folder = join(cache, "models--a--c");
    await mkdir(join(folder, "snapshots", "0123abc"), { recursive: true });
    await mkdir(join(folder, "refs"));
    await writeFile(join(folder, "refs", "main"), "0123abc");
    await writeFile(join(folder, "snapshots", "0123abc", "config.json"), config);
    assert.equal(await reads("a/c"), 512);
    assert.equal(paths.length, 3);
  } finally {
    await server.shutdown();
    await Deno.remove(cache, { recursive: true });
  }
});
