import assert from "node:assert/strict";
import { checkStrategy, heldMethods, resolveActions } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/discover.ts";
import { shippedRules } from "../../tracker/strategy_rules.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

/** Shapes of SmolLM2-135M. */
const DECODER = {
  ...{ layers: 30, hidden_size: 576, intermediate_size: 1536, heads: 9, kv_heads: 3, head_dim: 64 },
  linear_shapes: [
    { out_features: 576, in_features: 576, count: 60 },
    { out_features: 192, in_features: 576, count: 60 },
    { out_features: 1536, in_features: 576, count: 60 },
    { out_features: 576, in_features: 1536, count: 30 },
  ],
  ...{ linear_parameters: 106_168_320, group_sizes: [16, 32, 48, 64, 96, 192] },
};

Deno.test("every recipe of the rules that ship can run on a plain decoder, in OpenVINO and transformers", async () => {
  const registry = await discoverPlugins();
  const rules = shippedRules();
  assert.deepEqual(rules.map(({ name }) => name), ["scarce", "accuracy_first"]);
  const facts = smallFacts();
  facts.model = { ...facts.model, ...DECODER };
  for (const runtime of ["openvino", "transformers"]) {
    const methods = heldMethods(registry.methods, registry.runtime(runtime));
    for (const { actions } of rules.flatMap(({ recipes }) => recipes)) {
      const verdict = checkStrategy(resolveActions(actions, methods, facts), methods, facts);
      assert.deepEqual(verdict, { ok: true }, JSON.stringify(actions));
    }
  }
});
