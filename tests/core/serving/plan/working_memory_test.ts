import assert from "node:assert/strict";
import { CARDS } from "../../../../core/serving/plan/cards/card_table.ts";
import { usualBatch, workingMemory } from "../../../../core/serving/plan/memory/working_memory.ts";
import { shapeOf } from "./published.ts";

const GIB = 1024 ** 3;
const ONE = { tensor: 1, pipeline: 1 };
const cardOf = (name: string) => CARDS.find((card) => card.name === name)!;

/** Of a log: peak less weights, while so many tokens were read at once. */
const PEAKS = [
  ["meta-llama/Meta-Llama-3.1-8B", 20_000, 17.06 - 14.99, "vllm-project/vllm#10517"],
  ["meta-llama/Meta-Llama-3.1-8B", 29_000, 17.98 - 14.99, "vllm-project/vllm#10517"],
] as const;

for (const [model, batched, gib, source] of PEAKS) {
  Deno.test(`activations of ${model} at ${batched} tokens are within 30 % of ${source}`, () => {
    const { activations } = workingMemory(shapeOf(model), ONE, { batched, sequences: 256 });
    assert.ok(Math.abs(activations / GIB / gib - 1) < .3, `${activations / GIB}, not ${gib}`);
  });
}

Deno.test("graphs are within 30 % of what vLLM estimated for Qwen2.5-32B-AWQ on a card of 24 GB", () => {
  const { graphs } = workingMemory(
    shapeOf("Qwen/Qwen2.5-32B-Instruct-AWQ"),
    ONE,
    usualBatch(cardOf("A10")),
  );
  assert.ok(Math.abs(graphs / GIB / 1.59 - 1) < .3, `${graphs / GIB}`);
});

Deno.test("usualBatch() is vLLM's: more on cards of 70 GiB, most on those of 160, little on an A100", () => {
  assert.deepEqual(usualBatch(cardOf("H100-80")), { batched: 8192, sequences: 1024 });
  assert.deepEqual(usualBatch(cardOf("B200-192")), { batched: 16_384, sequences: 1024 });
  assert.deepEqual(usualBatch(cardOf("A100-80")), { batched: 2048, sequences: 256 });
  assert.deepEqual(usualBatch(cardOf("RTX4090")), { batched: 2048, sequences: 256 });
});

Deno.test("working memory shrinks with cards, and grows with tokens and sequences", () => {
  const shape = shapeOf("meta-llama/Meta-Llama-3.1-70B");
  const at = (tensor: number, batched: number, sequences: number) =>
    workingMemory(shape, { tensor, pipeline: 1 }, { batched, sequences });
  assert.ok(at(8, 8192, 256).activations < at(1, 8192, 256).activations);
  assert.ok(at(1, 16_384, 256).activations > 1.5 * at(1, 8192, 256).activations);
  assert.ok(at(1, 8192, 1024).graphs > at(1, 8192, 4).graphs);
  assert.ok(at(2, 8192, 4).outside > at(1, 8192, 4).outside);
});
