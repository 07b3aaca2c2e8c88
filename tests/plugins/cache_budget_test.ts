import assert from "node:assert/strict";
import {
  type Action,
  type Answer,
  type Artifact,
  cacheBytesAt,
  checkConstraints,
  checkStrategy,
  inferSpec,
  layerCaches,
  type Method,
  recipeCacheBytes,
  resolveActions,
  seededRandom,
  seedStrategies,
  type Trial,
  UsageError,
} from "../../core/mod.ts";
import { baselineSize, sizesAtContext } from "../../core/loop/size.ts";
import { bytesCrossing } from "../../core/strategies/caches/cache_at.ts";
import h2o from "../../plugins/kv_cache/h2o.ts";
import kvQuant from "../../plugins/kv_cache/kv_quant.ts";
import pyramidkv from "../../plugins/kv_cache/pyramidkv.ts";
import snapkv from "../../plugins/kv_cache/snapkv.ts";
import streaming from "../../plugins/kv_cache/streaming.ts";
import gptq from "../../plugins/quantization/gptq.ts";
import { neighbours } from "../../plugins/search/_neighbours.ts";
import auto from "../../plugins/search/auto.ts";
import pareto_neighbourhood from "../../plugins/search/pareto_neighbourhood.ts";
import random from "../../plugins/search/random.ts";
import { context, trial } from "./search_fixtures.ts";
import { plugins, request, smallFacts } from "../core/spec_fixtures.ts";

const CONFIG = {
  ...{ model_type: "llama", hidden_size: 576, num_hidden_layers: 30, vocab_size: 49_152 },
  ...{ num_attention_heads: 9, num_key_value_heads: 3, max_position_embeddings: 2048 },
};
/** 30 layers of 3 heads of 64 values, a key and a value of 2 bytes. */
const A_TOKEN = 30 * 3 * 2 * 64 * 2;

const small = smallFacts();
const facts = {
  ...small,
  model: { ...small.model, layer_caches: layerCaches(CONFIG, small.model) },
};
const of = (agent: string, ...own: Method[]) => own.map((method) => ({ agent, method }));
const methods = [
  ...of("quantization", gptq),
  ...of("kv_cache", h2o, kvQuant, pyramidkv, snapkv, streaming),
];
const policy = (method: string, params: Action["params"] = {}): Action => ({
  agent: "kv_cache",
  method,
  params,
});

function bytesOf(method: string, params: Action["params"], tokens: number): number {
  const actions = resolveActions([policy(method, params)], methods, facts);
  return recipeCacheBytes(actions, methods, facts, tokens)!;
}

function specOf(more: Parameters<typeof request>[0]) {
  return inferSpec(request({ context_tokens: 1024, ...more }), facts, { ...plugins, methods });
}

Deno.test("the cache at a length is counted by the layers that a config describes", () => {
  assert.equal(cacheBytesAt(facts.model, 1024), 1024 * A_TOKEN);
  const at = (config: object, tokens: number, more = {}) =>
    cacheBytesAt(
      { ...small.model, ...more, layer_caches: layerCaches(config, small.model) },
      tokens,
    );
  const kinds = Array.from(
    { length: 30 },
    (_, n) => n < 20 ? "sliding_attention" : "full_attention",
  );
  const windows = { ...CONFIG, layer_types: kinds, sliding_window: 128 };
  assert.equal(at(windows, 1024), A_TOKEN / 30 * (20 * 128 + 10 * 1024));
  const latent = { ...CONFIG, kv_lora_rank: 512, qk_rope_head_dim: 64, qk_nope_head_dim: 64 };
  assert.equal(at(latent, 1024), 30 * (512 + 64) * 2 * 1024);
  assert.equal(at(CONFIG, 1024, { layers: 15 }), 512 * A_TOKEN, "half of the layers are left");
  assert.equal(at(CONFIG, 1024, { kv_heads: 1 }), 1024 * A_TOKEN / 3);
});

Deno.test("what a policy keeps at a length goes by its knobs", () => {
  assert.equal(bytesOf("snapkv", { budget: 256 }, 1024), 256 * A_TOKEN);
  assert.equal(bytesOf("snapkv", { budget: 256 }, 100), 100 * A_TOKEN, "less was read");
  assert.equal(bytesOf("pyramidkv", { budget: 256 }, 1024), 256 * A_TOKEN);
  assert.equal(bytesOf("streaming", { sinks: 4, window: 60 }, 1024), 64 * A_TOKEN);
  const share = { budget_in: "share", share: 0.25 };
  assert.equal(bytesOf("snapkv", share, 1000), 250 * A_TOKEN);
  const each = { budget: 256, granularity: "query_head" };
  assert.equal(bytesOf("snapkv", each, 1024), 3 * 256 * A_TOKEN, "three query heads a key");
  // Sums of 4 bytes for each of 3 heads in 30 layers.
  assert.equal(bytesOf("h2o", { budget: 256 }, 1024), 256 * (A_TOKEN + 30 * 3 * 4));
  const codes = { codes: "kivi", code_bits: 4, code_group: 32, code_residual: 32 };
  const coded = 30 * 3 * 128 * (4 + 32 / 32) / 8;
  assert.equal(bytesOf("kv_quant", codes, 1024), 992 * coded + 32 * A_TOKEN);
});

Deno.test("the crossing point of bytes is the length from which on a policy keeps fewer", () => {
  const of = (...actions: Action[]) =>
    bytesCrossing(resolveActions(actions, methods, facts), methods, facts);
  assert.equal(of(policy("snapkv", { budget: 256 })), 257);
  // Three copies of 256 tokens are more than 768 of one; what is whole has none.
  assert.equal(of(policy("snapkv", { budget: 256, granularity: "query_head" })), 769);
  assert.equal(of(policy("snapkv", { budget: 1024, granularity: "query_head" })), null);
  // 256 tokens with a sum of 4 bytes each beside 256 bytes.
  assert.equal(of(policy("h2o", { budget: 256 })), 261);
  assert.equal(of({ agent: "quantization", method: "gptq", params: {} }), null);
});

Deno.test("a limit on the cache is refused where it says nothing, and a recipe that breaks it before work", () => {
  const refused = (more: Parameters<typeof request>[0]) => {
    try {
      inferSpec(request(more), facts, { ...plugins, methods });
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    return "";
  };
  const limit = { constraints: { max_kv_gb: 0.006 } };
  assert.match(refused(limit), /^Cannot limit the KV cache to 0\.006 GB as no length is said/);
  assert.equal(
    refused({ context_tokens: 4096 }),
    "Cannot count memory at a context of 4,096 tokens: small reads 2,048 tokens at most",
  );
  assert.match(
    refused({ ...limit, context_tokens: 1024, methods: ["gptq"] }),
    /^Cannot keep the KV cache within 0\.006 GB at 1,024 tokens: it takes 0\.0236 GB, and no method/,
  );
  const loose = specOf({ constraints: { max_kv_gb: 1 } });
  assert.ok(loose.warnings.some((one) => one.includes("the limit of 1 GB has no effect")));
  const { constraints: { max_kv_gb }, context_tokens } = specOf(limit);
  const reason = (action: Action, limits: Parameters<typeof checkStrategy>[3]) => {
    const verdict = checkStrategy(resolveActions([action], methods, facts), methods, facts, limits);
    return verdict.ok ? "" : verdict.reason;
  };
  const limits = { max_kv_gb, context_tokens };
  assert.equal(reason(policy("snapkv", { budget: 256 }), limits), "");
  assert.equal(
    reason(policy("snapkv", { budget: 512 }), limits),
    "its keys and values would take 0.0118 GB at 1024 tokens: the limit on the KV cache is 0.006 GB",
  );
  assert.equal(
    reason(policy("snapkv", { budget: 1024 }), { context_tokens }),
    "its cache would keep all of the 1024 tokens of the context",
  );
  // Weights of 0.269 GB and 256 tokens of 23,040 bytes.
  assert.match(
    reason(policy("snapkv", { budget: 256 }), { context_tokens, max_vram_gb: 0.27 }),
    /^weights and the cache of 1024 tokens would take 0\.27 GB: the memory limit is 0\.27 GB$/,
  );
});

Deno.test("first tries meet the limit on the cache, with weights and without; moves change both", () => {
  const spec = specOf({ constraints: { max_kv_gb: 0.002 } });
  assert.equal(spec.evict_after, "context");
  const { seeds } = seedStrategies(spec, facts, methods);
  assert.equal(seeds.length, 3);
  for (const { actions } of seeds) {
    const resolved = resolveActions(actions, methods, facts);
    assert.ok(recipeCacheBytes(resolved, methods, facts, 1024)! <= 2e6);
  }
  // A policy alone, behind weights and their embedding, and alone again, as no other method rounds.
  assert.deepEqual(seeds.map(({ actions }) => actions.length), [1, 3, 1]);
  assert.equal(seeds[1]!.actions[0]!.method, "gptq");

  const chain = [{ agent: "quantization", method: "gptq", params: {} }, policy("snapkv")];
  const moves = neighbours(resolveActions(chain, methods, facts), methods, { spec, facts });
  const changes = moves.map(({ change }) => change);
  assert.ok(changes.includes("snapkv to h2o at the same bits"));
  assert.ok(changes.some((one) => one.startsWith("snapkv budget 512 to ")));
  assert.ok(changes.includes("the whole cache kept"));
  const weights = resolveActions(chain.slice(0, 1), methods, facts);
  const added = neighbours(weights, methods, { spec, facts }).filter(({ kind }) =>
    kind === "cache"
  );
  assert.ok(added.some(({ actions }) => actions[1]?.method === "snapkv"));
});

Deno.test("a seeded search proposes weights and cache together, each within the limit", () => {
  const spec = specOf({ constraints: { max_kv_gb: 0.006 } });
  for (const sampler of [auto, pareto_neighbourhood, random]) {
    const { seeds } = seedStrategies(spec, facts, methods);
    const trials: Trial[] = seeds.map(({ actions }, at) => trial(at + 1, actions, {}, methods));
    while (trials.length < seeds.length + 12) {
      const front = trials.slice(-3).map(({ trial_id }) => trial_id);
      const seen = { spec, facts, trials, front, random: seededRandom(trials.length) };
      const answer = sampler.propose(context(seen, methods)) as Answer;
      trials.push(trial(trials.length + 1, answer.actions, {}, methods));
    }
    const recipes = trials.slice(seeds.length).map(({ actions }) => actions);
    for (const actions of recipes) {
      assert.ok(recipeCacheBytes(actions, methods, facts, 1024)! <= 6e6, sampler.name);
    }
    assert.ok(recipes.some((actions) => actions.length > 1), `${sampler.name}: no chain`);
    const last = recipes.map((actions) => actions.at(-1)!);
    assert.ok(new Set(last.map(({ method }) => method)).size > 1, `${sampler.name}: one policy`);
    const kept = last.map(({ params }) => JSON.stringify([params["budget"], params["share"]]));
    assert.ok(new Set(kept).size > 2, `${sampler.name}: one budget`);
  }
});

Deno.test("a trial is judged by its cache at the context, and memory is weights with it", () => {
  const spec = specOf({ constraints: { max_kv_gb: 0.006, max_vram_gb: 0.28 } });
  const size = baselineSize({ size_bytes: 269_000_000 } as Artifact, facts); // no more is looked at
  const verdicts = (budget: number) => {
    const actions = resolveActions([policy("snapkv", { budget })], methods, facts);
    const rows = sizesAtContext(size, actions, { spec, input: { methods, facts } });
    return Object.fromEntries(
      checkConstraints(spec, facts, [size, ...rows], null)
        .map(({ constraint, value, verdict }) => [constraint, [value, verdict]]),
    );
  };
  const { max_kv_gb, max_vram_gb } = verdicts(256);
  assert.deepEqual(max_kv_gb, [256 * A_TOKEN / 1e9, "met"]);
  assert.deepEqual(max_vram_gb, [(269e6 + 256 * A_TOKEN) / 1e9, "met"]);
  assert.deepEqual(verdicts(512)["max_kv_gb"], [512 * A_TOKEN / 1e9, "violated"]);
  assert.deepEqual(verdicts(512)["max_vram_gb"]![1], "violated");
});
