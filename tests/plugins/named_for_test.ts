import assert from "node:assert/strict";
import { type Action, resolveAction, UsageError, withOwnNames } from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
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
  assert.match(
    refusal("AutoScheme"),
    /mixed with scored_by: auto_scheme and rounded_by: autoround/,
  );
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

Deno.test("how many weights share a scale is answered wherever a method has groups", () => {
  for (const method of ["rtn", "gptq", "awq", "autoround", "hqq", "qat", "fisher_clip"]) {
    for (const name of ["granularity", "per_channel", "per_tensor"]) {
      const said = saidOf("quantization", method, { [name]: true });
      assert.match(said, new RegExp(`^Unknown knob of ${method} "${name}": .*group_size: -1`));
    }
  }
  for (const [method, own] of [["smoothquant", "weight_scale"], ["fp", "fp8_scale"]] as const) {
    for (const value of ["per_tensor", "per_channel"]) {
      const params = { granularity: value };
      const [action] = withOwnNames([{ agent: "quantization", method, params }], methods);
      assert.deepEqual(action?.params, { [own]: value });
    }
  }
});

function saidOf(agent: string, method: string, params: Action["params"]): string {
  try {
    resolveAction({ agent, method, params }, methods, smallFacts());
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  assert.fail(`${JSON.stringify(params)} was taken`);
}

Deno.test("what the requirement names for pruning and distillation is taken, or answered in words", () => {
  for (const method of ["channels", "depth", "magnitude", "wanda", "sparsegpt"]) {
    const said = saidOf("pruning", method, { prune_granularity: "head" });
    assert.match(said, /^Unknown knob of .*head is channels with attention_ratio/);
  }
  assert.match(saidOf("pruning", "channels", { sparsity_ratio: 0.2 }), /mlp_ratio of the MLP/);
  assert.match(saidOf("distillation", "distill", { student_size: "3B" }), /student_from: named/);
  const named = [
    ["pruning", "wanda", { sparsity_ratio: 0.3 }, { sparsity: 0.3 }],
    ["distillation", "distill", { KD_temperature: 3 }, { kd_temperature: 3 }],
    ["finetuning", "lora", { lora_rank: 4, learning_rate: 0.001 }, { rank: 4, lr: 0.001 }],
  ] as const;
  for (const [agent, method, params, own] of named) {
    assert.deepEqual(withOwnNames([{ agent, method, params }], methods)[0]?.params, own);
  }
});

Deno.test("a codec takes its paper's names, and says in words what the requirement's names are here", () => {
  const said = (method: string, params: Action["params"]) => saidOf("codec", method, params);
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
