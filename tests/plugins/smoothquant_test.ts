import assert from "node:assert/strict";
import { resolveAction } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods, runtimes } = await discoverPlugins([]);
const facts = smallFacts();
const { method } = methods.find((one) => one.method.name === "smoothquant")!;

/** What a runtime says of the linear layers that these knobs leave. */
function heldBy(runtime: string, params: Record<string, string | number>) {
  const action = resolveAction(
    { agent: "quantization", method: "smoothquant", params },
    methods,
    facts,
  );
  const change = method.leaves(action.params, facts).changes.find(({ part }) => part === "linear")!;
  return runtimes.find(({ name }) => name === runtime)!.holds(change, facts);
}

Deno.test("fixed ranges of inputs run in torch alone, which calls itself emulated", () => {
  for (const runtime of ["openvino", "llama.cpp"]) {
    const held = heldBy(runtime, { activation_scheme: "static" });
    assert.match(held.reason ?? "", /by what they are, not by a fixed range/);
    assert.ok(heldBy(runtime, { activation_scheme: "dynamic" }).ok, runtime);
  }
  assert.ok(heldBy("transformers", { activation_scheme: "static" }).ok);
  assert.notEqual(runtimes.find(({ name }) => name === "transformers")?.emulates, undefined);
});

Deno.test("norms change only where something is moved into the weights", () => {
  const parts = (smoothing: number) => {
    const params = { smoothing };
    const action = resolveAction(
      { agent: "quantization", method: "smoothquant", params },
      methods,
      facts,
    );
    return method.leaves(action.params, facts).changes.map(({ part }) => part);
  };
  assert.deepEqual(parts(0), ["linear"]);
  assert.deepEqual(parts(0.5), ["linear", "norm", "bias"]);
});

Deno.test("who works on blocks alone says what takes the embedding and the head", () => {
  for (const [name, knob] of [["autoround", "quant_lm_head"], ["mixed", "targets"]] as const) {
    const action = { agent: "quantization", method: name, params: { [knob]: "all" } };
    assert.throws(
      () => resolveAction(action, methods, facts),
      /Unknown knob of .*put gptq, awq or rtn with targets: embedding behind it/,
    );
  }
});

Deno.test("embedding and head have rounded weights beside layers whose inputs are rounded too", () => {
  for (const name of ["int8", "smoothquant"]) {
    const of = methods.find((one) => one.method.name === name)!.method;
    const params = { targets: "all" };
    const action = resolveAction({ agent: "quantization", method: name, params }, methods, facts);
    const { changes, model } = of.leaves(action.params, facts);
    const inputs = (part: string) => {
      const form = changes.find((change) => change.part === part)?.form;
      return (form as { activation_group_size?: number | null } | null)?.activation_group_size;
    };
    assert.equal(inputs("linear"), -1, name);
    assert.equal(inputs("embedding"), null, name);
    const plain = resolveAction(
      { agent: "quantization", method: "rtn", params: { bits: 8, group_size: -1, ...params } },
      methods,
      facts,
    );
    const rtn = methods.find(({ method }) => method.name === "rtn")!.method;
    assert.equal(
      model.weight_bytes?.embedding,
      rtn.leaves(plain.params, facts).model.weight_bytes?.embedding,
      name,
    );
  }
});
