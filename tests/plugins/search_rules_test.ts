import assert from "node:assert/strict";
import { checkParams } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/discover.ts";
import { shippedRules } from "../../tracker/strategy_rules.ts";

Deno.test("every rule that ships names methods and knobs that there are", async () => {
  const registry = await discoverPlugins([]);
  const rules = shippedRules();
  assert.ok(rules.length >= 2);
  for (const { recipes } of rules) {
    for (const { agent, method: name, params } of recipes.flatMap(({ actions }) => actions)) {
      const { method } = registry.method(agent, name);
      checkParams(name, method.knobs, params);
    }
  }
});
