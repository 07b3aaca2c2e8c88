import assert from "node:assert/strict";
import { checkStrategy, resolveActions } from "../../core/mod.ts";
import { adapterBytes } from "../../plugins/forms/adapter.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods } = await discoverPlugins([]);
const facts = smallFacts();

const verdict = (...chain: string[]) => {
  const actions = chain.map((name) => {
    const agent = methods.find(({ method }) => method.name === name)!.agent;
    return { agent, method: name, params: name === "eora" ? { rank: 8 } : {} };
  });
  return checkStrategy(resolveActions(actions, methods, facts), methods, facts);
};

Deno.test("eora follows on what rounds or prunes, and nothing follows on it", () => {
  for (const chain of [["rtn", "eora"], ["wanda", "eora"], ["wanda", "gptq", "eora"]]) {
    assert.deepEqual(verdict(...chain), { ok: true }, chain.join());
  }
  for (const chain of [["eora", "rtn"], ["rtn", "eora", "eora"], ["eora", "lora"]]) {
    assert.match(
      verdict(...chain).reason ?? "",
      /nothing may change them afterwards/,
      chain.join(),
    );
  }
});

Deno.test("the factors of eora count in the bytes of the linear layers", () => {
  const { method } = methods.find((one) => one.method.name === "eora")!;
  const { model, changes } = method.leaves({ rank: 8, samples: 4 }, facts);
  assert.equal(
    model.weight_bytes!.linear - facts.model.linear_parameters * 2,
    adapterBytes({ form: "adapter", rank: 8 }, facts.model.linear_shapes),
  );
  assert.deepEqual(changes.map(({ part }) => part), ["adapter"]);
});
