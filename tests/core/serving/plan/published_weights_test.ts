import assert from "node:assert/strict";
import { readConfig } from "../../../../core/serving/plan/model/config.ts";
import { readShape } from "../../../../core/serving/plan/model/read_shape.ts";
import { storedForms } from "../../../../core/serving/plan/model/stored_form.ts";
import { activeParameters, weighParts } from "../../../../core/serving/plan/model/weigh_parts.ts";
import { stageBytes, stagesOf } from "../../../../core/serving/plan/memory/ranks.ts";
import { configOf, PUBLISHED_WEIGHTS, WEIGHTS_A_CARD } from "./published.ts";

function sized(model: string, change: Record<string, unknown> = {}) {
  const config = readConfig({ ...configOf(model), ...change }, model);
  const shape = readShape(config);
  const forms = storedForms(config, shape.value_bytes);
  const parts = weighParts(shape, forms);
  return { shape, forms, parts, bytes: parts.reduce((sum, part) => sum + part.bytes, 0) };
}

for (const { model, bytes, source } of PUBLISHED_WEIGHTS) {
  Deno.test(`weights of ${model} are within 0.5 % of its files' bytes: ${source}`, () => {
    const found = sized(model);
    const error = Math.abs(found.bytes / bytes - 1);
    assert.ok(error < .005, `${found.bytes}, not ${bytes}: ${(error * 100).toFixed(3)} %`);
    assert.equal(found.shape.guessed, false);
  });
}

for (const { model, cards, bytes, source } of WEIGHTS_A_CARD) {
  Deno.test(`a card of ${cards} holds what was published of ${model}: ${source}`, () => {
    const { shape, forms } = sized(model);
    const spread = { tensor: cards, pipeline: 1 };
    const found = stageBytes(stagesOf(shape, spread)[0]!, shape, forms, cards);
    assert.ok(Math.abs(found / bytes - 1) < .005, `${found}, not ${bytes}`);
  });
}

Deno.test("beyond the KV heads their projections are copied, routers and norms on every card", () => {
  const { shape, forms } = sized("Qwen/Qwen3-235B-A22B");
  const whole = (cards: number) => {
    const [stage] = stagesOf(shape, { tensor: cards, pipeline: 1 });
    return stageBytes(stage!, shape, forms, cards) * cards;
  };
  const of = (pattern: RegExp) =>
    [...shape.outside, ...shape.layers.flatMap(({ weights }) => weights)]
      .filter(({ name }) => pattern.test(name))
      .reduce((sum, { rows, columns, plain }) => sum + 2 * (rows * columns + plain), 0);
  const copied = of(/norm|mlp.gate$/);
  assert.equal(whole(8) - whole(4), of(/[kv]_proj$/) + 4 * copied);
  assert.equal(whole(4) - whole(2), 2 * copied);
});

Deno.test("stages of a pipeline share the layers, with the embedding in the first and the head in the last", () => {
  const { shape, forms } = sized("Qwen/Qwen3-32B");
  const stages = stagesOf(shape, { tensor: 1, pipeline: 3 });
  assert.deepEqual(stages.map(({ caches }) => caches.length), [22, 21, 21]);
  const has = (stage: number, part: string) =>
    stages[stage]!.weights.some((one) => one.part === part);
  assert.deepEqual([has(0, "embedding"), has(1, "embedding"), has(2, "embedding")], [
    true,
    false,
    false,
  ]);
  assert.deepEqual([has(0, "head"), has(2, "head")], [false, true]);
  const sum = stages.reduce((all, stage) => all + stageBytes(stage, shape, forms, 1), 0);
  assert.ok(
    Math.abs(sum / sized("Qwen/Qwen3-32B").bytes - 1) < 1e-3,
    "padding of the vocabulary aside",
  );
});

Deno.test("weighParts() forgets no embedding, head, norm, router or expert", () => {
  const { parts } = sized("deepseek-ai/DeepSeek-V3");
  const of = (name: string) => parts.find(({ part }) => part === name)!;
  assert.equal(of("embedding").parameters, 129_280 * 7168);
  assert.equal(of("head").parameters, 129_280 * 7168);
  assert.equal(of("router").parameters, 58 * 256 * 7169, "scores and a bias an expert");
  assert.equal(
    of("experts").parameters,
    58 * 257 * 3 * 7168 * 2048,
    "routed ones and the shared one",
  );
  assert.ok(of("norms").parameters > 0 && of("attention").parameters > 11e9);
  assert.equal(of("router").form, "16-bit floats", "a router is never quantized");
  assert.match(of("draft layers").form, /fp8/);
});

Deno.test("a head that is the embedding is counted once", () => {
  const tied = sized("Qwen/Qwen3-1.7B");
  assert.equal(tied.parts.some(({ part }) => part === "head"), false);
  const apart = sized("Qwen/Qwen3-1.7B", { tie_word_embeddings: false });
  assert.equal(apart.bytes - tied.bytes, 151_936 * 2048 * 2);
});

Deno.test("activeParameters() counts the experts that a token takes", () => {
  const near = (model: string, billions: number) => {
    const found = activeParameters(sized(model).shape) / 1e9;
    assert.ok(Math.abs(found / billions - 1) < .05, `${model}: ${found}`);
  };
  near("Qwen/Qwen3-235B-A22B", 22);
  near("deepseek-ai/DeepSeek-V3", 37);
  near("openai/gpt-oss-120b", 5.1);
  near("mistralai/Mixtral-8x22B-v0.1", 39);
});

Deno.test("storedForms() reads every library's quantization_config", () => {
  const rows = 4096;
  const columns = 4096;
  const of = (quantization_config: object) => {
    const { forms } = sized("meta-llama/Meta-Llama-3.1-8B", { quantization_config });
    return { name: forms.main.name, bits: forms.main.bytes(rows, columns) * 8 / rows / columns };
  };
  const about = (config: object, bits: number, name: RegExp) => {
    const found = of(config);
    assert.match(found.name, name);
    assert.ok(Math.abs(found.bits - bits) < .02, `${found.name}: ${found.bits} bits`);
  };
  about({ quant_method: "gptq", bits: 4, group_size: 128, sym: true }, 4 + 20 / 128, /gptq/);
  about({ quant_method: "awq", bits: 4, group_size: 128, zero_point: true }, 4 + 20 / 128, /awq/);
  about({ quant_method: "fp8", weight_block_size: [128, 128] }, 8, /blocks of 128 by 128/);
  about({ producer: { name: "modelopt" }, quantization: { quant_algo: "NVFP4" } }, 4.5, /nvfp4/);
  about({ quant_method: "mxfp4" }, 4.25, /mxfp4/);
  about(
    { quant_method: "bitsandbytes", load_in_4bit: true, bnb_4bit_use_double_quant: true },
    4.13,
    /4 bits/,
  );
  about({ quant_method: "bitsandbytes", load_in_8bit: true }, 8, /8 bits/);
  const packed = (weights: object, format: string) => ({
    ...{ quant_method: "compressed-tensors", format },
    config_groups: { group_0: { targets: ["Linear"], weights } },
  });
  about(
    packed({ num_bits: 4, type: "int", group_size: 128, symmetric: true }, "pack-quantized"),
    4.125,
    /4 bits, groups of 128/,
  );
  about(packed({ num_bits: 8, type: "float", strategy: "channel" }, "float-quantized"), 8, /row/);
  about(
    packed({ num_bits: 4, type: "float", group_size: 16 }, "nvfp4-pack-quantized"),
    4.5,
    /nvfp4/,
  );
});

Deno.test("storedForms() leaves what a checkpoint names as it is", () => {
  const { parts } = sized("meta-llama/Meta-Llama-3.1-8B", {
    quantization_config: {
      ...{ quant_method: "compressed-tensors", format: "pack-quantized" },
      ignore: ["lm_head", "re:.*self_attn.*"],
      config_groups: { group_0: { weights: { num_bits: 4, group_size: 128, symmetric: true } } },
    },
  });
  const form = (name: string) => parts.find(({ part }) => part === name)!.form;
  assert.equal(form("attention"), "16-bit floats");
  assert.equal(form("head"), "16-bit floats");
  assert.match(form("mlp"), /4 bits/);
});
