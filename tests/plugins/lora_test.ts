import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  dataNeed,
  heldMethods,
  resolveActions,
  totalBytes,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods, runtime } = await discoverPlugins();
const facts = smallFacts();
const lora = (params: Action["params"]): Action => ({
  agent: "finetuning",
  method: "lora",
  params,
});
const rtn: Action = {
  agent: "quantization",
  method: "rtn",
  params: { bits: 8, group_size: -1 },
};
const entry = methods.find(({ method }) => method.name === "lora")!;

function refusal(actions: Action[], runtimeName = "transformers"): string {
  const held = heldMethods(methods, runtime(runtimeName));
  const verdict = checkStrategy(resolveActions(actions, held, facts), held, facts);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("lora goes before rounding where it is merged, and not after it", () => {
  assert.equal(refusal([lora({}), rtn]), "");
  assert.match(
    refusal([lora({ merge: false }), rtn]),
    /an adapter lies beside its weights: with merge/,
  );
  assert.match(refusal([lora({ merge: false }), lora({})]), /an adapter lies beside its weights/);
  assert.match(refusal([rtn, lora({})]), /lora cannot follow|comes last there/);
});

Deno.test("a runtime that cannot hold an adapter says so in words, before any work", () => {
  for (const name of ["transformers", "openvino", "llama.cpp"]) {
    assert.equal(refusal([lora({ merge: false })], name), "");
  }
  assert.equal(refusal([lora({})], "vllm"), "");
  assert.match(
    refusal([lora({ merge: false })], "vllm"),
    /its speed cannot be measured in vllm: .* weights stored as adapter/,
  );
});

Deno.test("an adapter counts in the bytes, by its rank; merged it leaves the model as it is", () => {
  const leaves = (params: Action["params"]) => {
    const [action] = resolveActions([lora(params)], methods, facts);
    return totalBytes(entry.method.leaves(action!.params, facts).model);
  };
  const before = leaves({});
  const sides = facts.model.linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + count * (out_features + in_features),
    0,
  );
  assert.equal(leaves({ merge: false, rank: 4 }) - before, 2 * 4 * sides);
  assert.equal(leaves({ merge: false, rank: 8 }) - before, 2 * 8 * sides);
});

Deno.test("lora trains on every training window, of each as many tokens as it says", () => {
  const need = dataNeed(entry.method, { tokens: 64 });
  assert.deepEqual(need, { kind: "training", windows: null, tokens: 64 });
});
