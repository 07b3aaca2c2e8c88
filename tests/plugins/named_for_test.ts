import assert from "node:assert/strict";
import { resolveAction, UsageError, withOwnNames } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/discover.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const { methods } = await discoverPlugins([]);

function refusal(method: string): string {
  try {
    resolveAction({ agent: "quantization", method, params: {} }, methods, smallFacts());
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  assert.fail(`${method} was taken`);
}

Deno.test("another project's tool is refused with what stands for it here", () => {
  for (const name of ["neural_compressor", "INC", "intel-neural-compressor"]) {
    assert.match(refusal(name), /^Unknown method of quantization "[^"]+": .*int8 .*gptq, awq/);
  }
  assert.match(refusal("gptqmodel"), /llm-compressor's here; GPTQModel is not installed/);
  assert.match(refusal("AutoScheme"), /mixed chooses each layer's format/);
  assert.match(refusal("qptq"), /Did you mean "gptq"/);
});

Deno.test("no name that a method stands for is a method's own", () => {
  const own = new Set(methods.map(({ method }) => method.name));
  for (const { method } of methods) {
    for (const [name, said] of Object.entries(method.named_for ?? {})) {
      assert.ok(!own.has(name), `${name} is a method`);
      assert.doesNotMatch(said, /\.$/, `${name}: the sentence goes on`);
    }
  }
});

Deno.test("quantization takes the literature's names of its knobs and records its own", () => {
  const named: readonly [string, Record<string, number | boolean>, string[]][] = [
    ["rtn", { bit_width: 3, sym: false, q_group_size: 32 }, ["bits", "symmetric", "group_size"]],
    ["gptq", { nbits: 3, damp_percent: 0.05, nsamples: 4 }, ["bits", "dampening", "samples"]],
    ["awq", { num_bits: 3, n_grid: 20, groupsize: 32 }, ["bits", "search_steps", "group_size"]],
  ];
  for (const [method, params, own] of named) {
    const [action] = withOwnNames([{ agent: "quantization", method, params }], methods);
    assert.deepEqual(
      action?.params,
      Object.fromEntries(
        own.map((name, place) => [name, Object.values(params)[place]]),
      ),
    );
  }
});
