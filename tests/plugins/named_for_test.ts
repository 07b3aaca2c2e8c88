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

Deno.test("a codec takes its paper's names, and says in words what the requirement's names are here", () => {
  const said = (method: string, params: Record<string, number | boolean>) => {
    try {
      resolveAction({ agent: "codec", method, params }, methods, smallFacts());
    } catch (error) {
      assert.ok(error instanceof UsageError, String(error));
      return error.message;
    }
    assert.fail(`${JSON.stringify(params)} was taken`);
  };
  for (const name of ["temperature", "num_generations", "thought_guidance"]) {
    assert.match(
      said("seedlm", { [name]: 1 }),
      new RegExp(`^Unknown knob of seedlm "${name}": it encodes weights .*seed_bits`),
    );
  }
  assert.match(said("vptq", { quantization_bits: 3 }), /3 with residual_bits: 4$/);
  assert.match(said("vptq", { num_centroids: 256 }), /centroid_bits .*8 for 256$/);
  for (const method of ["seedlm", "vptq", "hyper_compression"]) {
    assert.match(said(method, { preserve_eudaimonia_weights: true }), /the stage's gates judge/);
  }
  const named: readonly [string, Record<string, number>, Record<string, number>][] = [
    ["seedlm", { K: 8, C: 8, P: 4 }, { seed_bits: 8, block_weights: 8, coefficients: 4 }],
    ["hyper_compression", { U: 400, M: 2 }, { lattice_points: 400, outer_classes: 2 }],
    ["vptq", { vector_lens: 2, calibration_samples: 4 }, { vector_length: 2, samples: 4 }],
  ];
  for (const [method, params, own] of named) {
    const [action] = withOwnNames([{ agent: "codec", method, params }], methods);
    assert.deepEqual(action?.params, own);
  }
  for (const { method } of methods) {
    for (const [name, sentence] of Object.entries(method.knobs_named_for ?? {})) {
      const knobs = Object.entries(method.knobs);
      assert.ok(knobs.every(([own, { aliases = [] }]) => own !== name && !aliases.includes(name)));
      assert.doesNotMatch(sentence, /\.$/, `${name}: the sentence goes on`);
    }
  }
});
