import assert from "node:assert/strict";
import {
  layOut,
  longestContext,
  sequenceBlocks,
  sequenceBytes,
} from "../../../../core/serving/plan/memory/cache_groups.ts";
import type { CacheType } from "../../../../core/serving/plan/memory/cache_types.ts";
import { PUBLISHED_CACHES, PUBLISHED_CONTEXTS, shapeOf } from "./published.ts";

const GIB = 1024 ** 3;
const USUAL_BATCH = 8192;

function layoutOf(model: string, type: CacheType = "auto", cards = 1) {
  const shape = shapeOf(model);
  return layOut(shape.layers.flatMap(({ caches }) => caches), type, shape, cards);
}

for (const one of PUBLISHED_CACHES) {
  const { model, cards = 1, type, tokens, bytes, gib, batched = USUAL_BATCH, source } = one;
  Deno.test(`the cache of ${model} on ${cards} is what was published: ${source}`, () => {
    const layout = layoutOf(model, type, cards);
    // A figure of one token is a sixteenth of a block of 16.
    const length = tokens === 1 ? 16 : tokens;
    const whole = sequenceBytes(layout, length, batched) / (tokens === 1 ? 16 : 1);
    if (bytes !== undefined) return assert.equal(whole, bytes);
    const decimals = gib!.split(".")[1]!.length;
    // vLLM cuts decimals off or rounds them, by its version.
    const near = Math.abs(whole / GIB - Number(gib)) <= .51 * 10 ** -decimals;
    assert.ok(near, `${whole / GIB} GiB, not ${gib}`);
  });
}

Deno.test("published figures are of twenty models and more", () => {
  assert.ok(new Set(PUBLISHED_CACHES.map(({ model }) => model)).size >= 20);
  assert.ok(PUBLISHED_CONTEXTS.length >= 13);
});

for (
  const { model, cards = 1, type, gib, tokens, batched = USUAL_BATCH, source } of PUBLISHED_CONTEXTS
) {
  Deno.test(`${model} on ${cards} holds in ${gib} GiB what vLLM said: ${source}`, () => {
    const layout = layoutOf(model, type, cards);
    const found = longestContext(layout, gib * GIB, { sequences: 1, batched, most: 1e7 });
    const error = Math.abs(found / tokens - 1);
    assert.ok(error <= .02, `${found}, not ${tokens}: ${(error * 100).toFixed(2)} %`);
  });
}

Deno.test("layOut() makes a block of attention as large as a state, as vLLM's log of Qwen3.5 says", () => {
  // "Setting attention block size to 1056 tokens", "Padding mamba page size by 0.76%": TP 1, 16 bits.
  const { groups, block_bytes } = layoutOf("Qwen/Qwen3.5-35B-A3B");
  assert.deepEqual(groups.filter(({ keeps }) => keeps === "all").map(({ block }) => block), [1056]);
  assert.equal(groups.filter(({ keeps }) => keeps === "state").length, 3);
  assert.equal(block_bytes, 10 * 2_162_688);
  // "Setting attention block size to 784 tokens" of the 27B.
  const wide = layoutOf("Qwen/Qwen3.5-27B").groups.find(({ keeps }) => keeps === "all");
  assert.equal(wide?.block, 784);
});

Deno.test("layOut() gives Qwen3.5-35B in 8 bits the tokens and the concurrency of vLLM's log", () => {
  // "Available KV cache memory: 5.69 GiB", "148,816 tokens", "for 32,768 tokens per request: 12.91x".
  const layout = layoutOf("Qwen/Qwen3.5-35B-A3B", "fp8");
  const blocks = Math.floor(5.69 * GIB / layout.block_bytes);
  const [, , , all] = layout.groups.toSorted((a, b) => a.block - b.block);
  assert.equal(Math.floor(blocks / layout.groups.length) * all!.block, 148_816);
  const concurrency = blocks / sequenceBlocks(layout, 32_768, USUAL_BATCH);
  assert.equal(concurrency.toFixed(2), "12.91");
});

Deno.test("layOut() gives Qwen3.5-122B on two cards in 8 bits the tokens and concurrency of vLLM's log", () => {
  // "Available KV cache memory: 1.73 GiB", "75,168 tokens", "for 131,072 tokens per request: 1.89x".
  const layout = layoutOf("Qwen/Qwen3.5-122B-A10B", "fp8", 2);
  const blocks = Math.floor(1.73 * GIB / layout.block_bytes);
  const all = layout.groups.find(({ keeps }) => keeps === "all")!;
  assert.equal(Math.floor(blocks / layout.groups.length) * all.block, 75_168);
  const concurrency = blocks / sequenceBlocks(layout, 131_072, USUAL_BATCH);
  assert.equal(Math.floor(concurrency * 100) / 100, 1.89);
});

Deno.test("layOut() makes the blocks of Nemotron's Mamba layers and of LFM2's convolutions as vLLM says", () => {
  // "Setting attention block size to 4176 tokens", "Padding mamba page size by 0.19%": in 8 bits.
  const nano = layoutOf("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "fp8");
  assert.equal(nano.groups.find(({ keeps }) => keeps === "all")?.block, 4176);
  const state = 64 * 64 * 128 * 4 + 3 * (4096 + 2 * 8 * 128) * 2;
  assert.equal((100 * (4176 * 512 / state - 1)).toFixed(2), "0.19");
  // "Setting attention block size to 16 tokens", "Padding mamba page size by 300.00%", "Add 2 padding layers".
  const lfm = layoutOf("LiquidAI/LFM2.5-1.2B-Instruct");
  assert.equal(lfm.groups.find(({ keeps }) => keeps === "all")?.block, 16);
  assert.equal(lfm.block_bytes, 6 * 4 * (2 * 2048 * 2), "six layers a group, four times a state");
  assert.equal(
    lfm.groups.filter(({ keeps }) => keeps === "state").length,
    2,
    "ten layers and two that pad",
  );
});

Deno.test("layOut() counts a window once a sequence, and pads what does not fill a group", () => {
  const layout = layoutOf("openai/gpt-oss-120b");
  assert.deepEqual(layout.groups.map(({ keeps }) => keeps).sort(), ["all", "window"]);
  const grows = (length: number) =>
    sequenceBlocks(layout, length + 16, USUAL_BATCH) - sequenceBlocks(layout, length, USUAL_BATCH);
  assert.equal(grows(65_536), 1, "beyond the window only the layers that keep all grow");
  assert.equal(grows(1024), 2);
});

Deno.test("heads are copied where there are more cards than KV heads, latent vectors always", () => {
  const bytes = (model: string, cards: number) =>
    sequenceBytes(layoutOf(model, "auto", cards), 16, 1);
  assert.equal(bytes("Qwen/Qwen3-235B-A22B", 8), bytes("Qwen/Qwen3-235B-A22B", 4));
  assert.equal(bytes("deepseek-ai/DeepSeek-V3", 8), bytes("deepseek-ai/DeepSeek-V3", 1));
});

Deno.test("one KV head for all queries is 2 × its size × layers × 2 bytes", () => {
  assert.equal(sequenceBytes(layoutOf("tiiuae/falcon-7b"), 16, 1) / 16, 2 * 64 * 32 * 2);
});

Deno.test("sparse latent attention in 8 bits takes 656 bytes a token and 132 for the index", () => {
  const layout = layoutOf("deepseek-ai/DeepSeek-V3.2", "fp8");
  assert.equal(sequenceBytes(layout, 16, 1) / 16, 61 * (656 + 132));
});
