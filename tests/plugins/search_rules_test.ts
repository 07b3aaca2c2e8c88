import assert from "node:assert/strict";
import {
  type BlockMatrix,
  checkStrategy,
  type Facts,
  heldMethods,
  inferSpec,
  resolveActions,
  ruleStrategies,
  seedStrategies,
  strategyKey,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { modelFamilies } from "../../tracker/lab/search/model_families.ts";
import { shippedRules } from "../../tracker/lab/search/strategy_rules.ts";
import { request, smallFacts } from "../core/spec_fixtures.ts";

/** A Llama's matrices by their names in a block. */
function matricesOf(layers: number, hidden: number, keys: number, wide: number): BlockMatrix[] {
  const row = (name: string, out_features: number, in_features: number): BlockMatrix => (
    { name, out_features, in_features, blocks: [[0, layers - 1]] }
  );
  return [
    row("self_attn.q_proj", hidden, hidden),
    row("self_attn.k_proj", keys, hidden),
    row("self_attn.v_proj", keys, hidden),
    row("self_attn.o_proj", hidden, hidden),
    row("mlp.gate_proj", wide, hidden),
    row("mlp.up_proj", wide, hidden),
    row("mlp.down_proj", hidden, wide),
  ];
}

/** Shapes of SmolLM2-135M. */
const DECODER = {
  ...{ layers: 30, hidden_size: 576, intermediate_size: 1536, heads: 9, kv_heads: 3, head_dim: 64 },
  linear_shapes: [
    { out_features: 576, in_features: 576, count: 60 },
    { out_features: 192, in_features: 576, count: 60 },
    { out_features: 1536, in_features: 576, count: 60 },
    { out_features: 576, in_features: 1536, count: 30 },
  ],
  block_matrices: matricesOf(30, 576, 192, 1536),
  ...{ linear_parameters: 106_168_320, group_sizes: [16, 32, 48, 64, 96, 192] },
};

/** Shapes of Llama-3.2-1B. */
const WIDE = {
  ...{
    layers: 16,
    hidden_size: 2048,
    intermediate_size: 8192,
    heads: 32,
    kv_heads: 8,
    head_dim: 64,
  },
  linear_shapes: [
    { out_features: 2048, in_features: 2048, count: 32 },
    { out_features: 512, in_features: 2048, count: 32 },
    { out_features: 8192, in_features: 2048, count: 32 },
    { out_features: 2048, in_features: 8192, count: 16 },
  ],
  block_matrices: matricesOf(16, 2048, 512, 8192),
  ...{ linear_parameters: 973_078_528, group_sizes: [16, 32, 64, 128, 256] },
};

Deno.test("every recipe of the rules that ship can run on a plain decoder, in every runtime of a CPU", async () => {
  const registry = await discoverPlugins();
  const rules = shippedRules();
  assert.deepEqual(rules.map(({ name }) => name), [
    ...["scarce", "accuracy_first"],
    ...["exact_answers", "short_answers"],
    ...["own_blocks_of_llama_cpp", "small_model", "decoder_of_some_billions", "large_decoder"],
    ...["outliers_in_activations", "more_bits_of_llama_cpp"],
  ]);
  // Groups of 128 divide no row of the small one: its profiles ask for none.
  const wide_alone = ["decoder_of_some_billions", "large_decoder"];
  for (const shapes of [DECODER, WIDE]) {
    const facts: Facts = { ...smallFacts(), tools: ["llama_cpp"] };
    facts.model = { ...facts.model, ...shapes };
    for (const runtime of ["openvino", "transformers", "llama.cpp"]) {
      const methods = heldMethods(registry.methods, registry.runtime(runtime));
      const meant = rules.filter(({ name }) => shapes === WIDE || !wide_alone.includes(name));
      for (const { actions } of meant.flatMap(({ recipes }) => recipes)) {
        const verdict = checkStrategy(resolveActions(actions, methods, facts), methods, facts);
        assert.deepEqual(verdict, { ok: true }, JSON.stringify(actions));
      }
    }
  }
});

Deno.test("a study in llama.cpp begins with llama.cpp's own blocks", async () => {
  const registry = await discoverPlugins();
  const facts: Facts = { ...smallFacts(), tools: ["llama_cpp"] };
  facts.model = { ...facts.model, ...DECODER };
  const asked = request({ dataset: "demo", runtime: "llama.cpp" });
  const spec = inferSpec(asked, facts, registry);
  const methods = heldMethods(registry.methods, registry.runtime(spec.runtime));
  const { strategies } = ruleStrategies(shippedRules(), asked, spec, facts, methods);
  const own = strategies.filter(({ origin }) => origin.reason.includes("(runtime llama.cpp)"));
  assert.deepEqual(
    own.map(({ actions }) => {
      const { block_mix, embedding_blocks = "mix" } = actions[0]!.params;
      return `${block_mix}, embedding ${embedding_blocks}`;
    }),
    [
      "IQ4_NL, embedding IQ4_NL",
      "IQ4_NL, embedding mix",
      "Q4_K_M, embedding mix",
      "Q6_K, embedding mix",
    ],
  );
});

Deno.test("the profiles of a small model are its methods' own first tries: they add no trial to a study", async () => {
  const registry = await discoverPlugins();
  const facts = smallFacts();
  facts.model = { ...facts.model, ...DECODER };
  const asked = request({ dataset: "demo" });
  facts.dataset = { ...facts.dataset, dataset: "demo" };
  const spec = inferSpec(asked, facts, registry);
  const methods = heldMethods(registry.methods, registry.runtime(spec.runtime));
  const { strategies, refused } = ruleStrategies(shippedRules(), asked, spec, facts, methods);
  assert.deepEqual(refused, []);
  assert.deepEqual(
    strategies.map(({ origin }) => origin.reason.split(":")[0]!.split(" (")[0]),
    ["rule small_model", "rule small_model"],
  );
  const { seeds } = seedStrategies(spec, facts, methods);
  const key = ({ actions }: typeof seeds[number] | typeof strategies[number]) =>
    strategyKey(resolveActions(actions, methods, facts));
  const own = seeds.map(key);
  assert.deepEqual(strategies.map(key).filter((one) => !own.includes(one)), []);
});

Deno.test("the families of the rules that ship are families that there are", () => {
  const known = modelFamilies();
  const named = shippedRules().flatMap(({ when }) => when.flatMap(({ family = [] }) => family));
  assert.ok(named.length > 0);
  assert.deepEqual(named.filter((one) => !known.includes(one)), []);
});
