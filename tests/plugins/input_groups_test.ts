import assert from "node:assert/strict";
import { resolveAction } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods, runtimes } = await discoverPlugins([]);
const facts = smallFacts();
const gpu = { ...facts, device: { ...facts.device, device: "cuda" as const } };
const vllm = runtimes.find(({ name }) => name === "vllm")!;

/** How the linear layers' inputs are grouped, and whether vLLM loads that. */
function rounded(method: string, params: Record<string, string>, on = facts) {
  const action = resolveAction({ agent: "quantization", method, params }, methods, on);
  const { leaves } = methods.find((one) => one.method.name === method)!.method;
  const change = leaves(action.params, on).changes.find(({ part }) => part === "linear")!;
  return [action.params["activation_group_size"], vllm.holds(change, on).ok];
}

Deno.test("the default W8A8 rounds inputs by whole tokens, which a server's kernels take", () => {
  for (const method of ["int8", "smoothquant"]) assert.deepEqual(rounded(method, {}), [-1, true]);
});

Deno.test("auto groups inputs as the device's runtimes compute: OpenVINO by 64, GPUs by tokens", () => {
  const params = { activation_group_size: "auto" };
  for (const method of ["int8", "smoothquant"]) {
    assert.deepEqual(rounded(method, params), [64, false]);
    assert.deepEqual(rounded(method, params, gpu), [-1, true]);
  }
});
