import assert from "node:assert/strict";
import {
  type Action,
  checkStrategy,
  heldMethods,
  resolveAction,
  resolveActions,
  totalBytes,
  weightBytes,
} from "../../core/mod.ts";
import magnitude from "../../plugins/pruning/magnitude.ts";
import sparsegpt from "../../plugins/pruning/sparsegpt.ts";
import wanda from "../../plugins/pruning/wanda.ts";
import openvino from "../../plugins/runtimes/openvino.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_facts.ts";

const facts = smallFacts();
const entries = [magnitude, wanda, sparsegpt].map((method) => ({ agent: "pruning", method }));
const action = (method: string, params: Action["params"]) => ({ agent: "pruning", method, params });

function refusal(method: string, params: Action["params"], met = facts): string {
  const verdict = checkStrategy(
    resolveActions([action(method, params)], entries, met),
    entries,
    met,
  );
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("a share of zeros may be given by its name in the requirements", () => {
  for (const { method } of entries) {
    const resolved = resolveAction(action(method.name, { sparsity_ratio: 0.3 }), entries, facts);
    assert.equal(resolved.params["sparsity"], 0.3, method.name);
    assert.equal(refusal(method.name, { sparsity_ratio: 0.3 }), "");
  }
});

Deno.test("a pattern has its own share in every layer, of rows that it divides", () => {
  for (const { method: { name } } of entries) {
    assert.equal(refusal(name, { pattern: "2:4" }), "");
    assert.match(refusal(name, { pattern: "2:4", sparsity: 0.4 }), /a sparsity of 0\.5 in every/);
    const model = {
      ...facts.model,
      linear_shapes: [{ out_features: 8, in_features: 30, count: 1 }],
    };
    const why = refusal(name, { pattern: "4:8" }, { ...facts, model });
    assert.match(why, /4:8 does not divide the rows of 30 weights/);
  }
  const spread = { pattern: "4:8", layer_sparsity: "outliers" };
  assert.match(refusal("wanda", spread), /not 0\.5 spread by outliers/);
  assert.match(refusal("magnitude", { pattern: "2:4", scope: "global" }), /with the scope global/);
});

Deno.test("dense weights take a float's bytes, a bitmask a bit a place and what is left", () => {
  const linear_parameters = facts.model.linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + out_features * in_features * count,
    0,
  );
  const met = { ...facts, model: { ...facts.model, linear_parameters } };
  const whole = 2 * linear_parameters;
  for (const { method } of entries) {
    const linear = (params: Action["params"]) => {
      const resolved = resolveAction(action(method.name, params), entries, facts);
      const { model, changes } = method.leaves(resolved.params, met);
      assert.ok(totalBytes(model) > 0);
      return [weightBytes(model).linear, changes[0]!.form?.form] as const;
    };
    assert.deepEqual(linear({ stored_as: "dense" }), [whole, undefined]);
    const [bytes, form] = linear({ sparsity: 0.5 });
    assert.equal(form, "bitmask");
    assert.ok(Math.abs(bytes / whole - 9 / 16) < 0.001, `${bytes} of ${whole}`);
  }
});

Deno.test("a study in OpenVINO says that zeros bring no speed, however they are stored", () => {
  for (const { method } of heldMethods(entries, openvino)) {
    for (const stored_as of ["bitmask", "dense"]) {
      const { params } = resolveAction(action(method.name, { stored_as }), entries, facts);
      const said = method.leaves(params, facts).changes.map(({ no_faster }) => no_faster);
      assert.match(said.join(), /zeros are multiplied like other weights in this runtime/);
    }
  }
});

Deno.test("no codec takes pruned weights, as its code has no zeros; rounding does", async () => {
  const { methods } = await discoverPlugins([]);
  const why = (...names: string[]) => {
    const own = (name: string) => methods.find((one) => one.method.name === name)!.agent;
    const chain = names.map((name) => ({ agent: own(name), method: name, params: {} }));
    const verdict = checkStrategy(resolveActions(chain, methods, facts), methods, facts);
    return verdict.ok ? "" : verdict.reason;
  };
  const codecs = methods.filter(({ method }) => method.order.effect === "encodes");
  assert.deepEqual(codecs.map(({ method }) => method.name).sort(), [
    ...["compose", "hyper_compression", "seedlm", "vptq"],
  ]);
  for (const { method: { name } } of codecs) {
    const said = new RegExp(`^${name} cannot follow .* that sparsegpt has pruned: .*no zeros`);
    assert.match(why("sparsegpt", name), said);
    assert.match(why("sparsegpt", "lora", name), said);
    assert.equal(why("lora", name), "");
  }
  assert.equal(why("sparsegpt", "gptq"), "");
});

Deno.test("weights may be pruned in steps, with training between them", async () => {
  const { methods } = await discoverPlugins([]);
  const step = (method: string, agent: string, params: Action["params"] = {}) => ({
    ...{ agent, method, params },
  });
  const chain = [
    step("sparsegpt", "pruning", { sparsity: 0.3 }),
    step("lora", "finetuning"),
    step("magnitude", "pruning", { sparsity: 0.5 }),
    step("rtn", "quantization"),
  ];
  assert.deepEqual(checkStrategy(resolveActions(chain, methods, facts), methods, facts), {
    ok: true,
  });
});
