import assert from "node:assert/strict";
import {
  type AgentMethod,
  checkStrategy,
  embeddingActions,
  inferSpec,
  resolveActions,
  seedStrategies,
  strategyKey,
} from "../../core/mod.ts";
import { largeFacts, methods, plugins, request, smallFacts } from "./spec_fixtures.ts";

const small = smallFacts();

function seedsFor(facts = small, own: readonly AgentMethod[] = methods, more = {}) {
  const spec = inferSpec(request(more), facts, { ...plugins, methods: own });
  return seedStrategies(spec, facts, own);
}

const only = (...names: string[]) => methods.filter(({ method }) => names.includes(method.name));

Deno.test("seedStrategies() offers one recipe a boldness, by three methods, preferred ones first", () => {
  const { seeds } = seedsFor();
  assert.deepEqual(seeds.map((seed) => seed.boldness), ["conservative", "balanced", "aggressive"]);
  assert.deepEqual(seeds.map((seed) => seed.actions[0]?.method), ["octet", "tune", "round"]);
  assert.ok(seeds.every((seed) => seed.origin.mode === "seed" && seed.origin.reason.length > 9));
});

Deno.test("seedStrategies() begins with the families of the preferred methods, wherever others are listed", () => {
  // Another family, listed first, that would take a boldness of its own.
  const earlier = methods.map(({ method }): AgentMethod => ({
    agent: "cutting",
    method: { ...method, name: `cut_${method.name}` },
  }));
  const { seeds } = seedsFor(small, [...earlier, ...methods]);
  assert.deepEqual(seeds.map((seed) => seed.actions[0]?.method), ["octet", "tune", "round"]);
});

Deno.test("seedStrategies() offers only recipes that can run, no two the same", () => {
  const { seeds } = seedsFor();
  const resolved = seeds.map((seed) => resolveActions(seed.actions, methods, small));
  for (const actions of resolved) {
    assert.deepEqual(checkStrategy(actions, methods, small), { ok: true });
  }
  assert.equal(new Set(resolved.map(strategyKey)).size, 3);
});

Deno.test("seedStrategies() reduces a large embedding too, but not in the conservative one", () => {
  const [conservative, balanced, aggressive] = seedsFor().seeds;
  assert.equal(conservative?.actions.length, 1);
  for (const seed of [balanced, aggressive]) {
    assert.deepEqual(seed?.actions[1], {
      agent: "shrinking",
      method: "round",
      params: { targets: "embedding", bits: 8 },
    });
    assert.match(seed?.origin.reason ?? "", /the embedding, \d+ % of the bytes left/);
  }
});

Deno.test("seedStrategies() leaves a small embedding alone", () => {
  const facts = {
    ...small,
    model: { ...small.model, embedding_parameters: 2e6, linear_parameters: 132e6 },
  };
  assert.ok(seedsFor(facts).seeds.every((seed) => seed.actions.length === 1));
});

Deno.test("seedStrategies() does not reduce an embedding that the method reduces itself", () => {
  const [rounding] = only("round");
  const seed = () => ({ targets: "both", bits: 4 });
  const own = [{ agent: "shrinking", method: { ...rounding!.method, seed } }];
  const { seeds, refused } = seedsFor(small, own);
  assert.ok(seeds.length > 0 && seeds.every((one) => one.actions.length === 1));
  assert.deepEqual(refused, []);
});

Deno.test("embeddingActions() asks no method that cannot work here", () => {
  const [rounding] = only("round");
  const supports = () => ({ ok: false as const, reason: "not this model" });
  const own = [{ agent: "shrinking", method: { ...rounding!.method, supports } }];
  assert.deepEqual(embeddingActions(own, small), []);
});

Deno.test("seedStrategies() finds no embedding action where no method offers one", () => {
  const { seeds } = seedsFor(small, only("octet", "tune", "solve"));
  assert.ok(seeds.every((seed) => seed.actions.length === 1));
  assert.equal(seeds.length, 3);
});

Deno.test("seedStrategies() uses one method at each boldness where there is no other", () => {
  const { seeds } = seedsFor(small, only("solve"));
  assert.deepEqual(seeds.map((seed) => seed.actions[0]?.params["bits"]), [8, 4, 3]);
  assert.equal(seedsFor(small, only("octet")).seeds.length, 1);
});

Deno.test("seedStrategies() keeps to the order for large models and to the methods asked for", () => {
  const first = seedsFor(largeFacts()).seeds.map((seed) => seed.actions[0]?.method);
  assert.deepEqual(first.slice(0, 2), ["solve", "tune"]);
  const asked = seedsFor(small, methods, { methods: ["tune", "solve"] }).seeds;
  assert.deepEqual([...new Set(asked.flatMap((s) => s.actions.map((a) => a.method)))].sort(), [
    "solve",
    "tune",
  ]);
});

Deno.test("seedStrategies() tells what it refused, and why", () => {
  const facts = { ...small, model: { ...small.model, group_sizes: [32] } };
  const { seeds, refused } = seedsFor(facts);
  const reasons = refused.map((one) => `${one.strategy}: ${one.reason}`).join("\n");
  assert.match(
    reasons,
    /tune-4bit-g64\+round-embedding-8bit-g32: groups of 64 do not divide the rows/,
  );
  assert.ok(seeds.some((seed) => seed.actions[0]?.method === "solve"));
});

Deno.test("embeddingActions() finds what changes the embedding alone, near 8 bits first", () => {
  const actions = embeddingActions(methods, small);
  assert.ok(actions.length > 1);
  assert.ok(actions.every((one) => one.params["targets"] === "embedding"));
  const bits = actions.map((one) => Number(one.params["bits"] ?? 4));
  assert.deepEqual(bits, bits.toSorted((a, b) => b - a));
  assert.deepEqual(embeddingActions(only("tune"), small), []);
});
