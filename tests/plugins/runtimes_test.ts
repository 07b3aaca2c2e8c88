import assert from "node:assert/strict";
import openvino from "../../plugins/runtimes/openvino.ts";
import transformers from "../../plugins/runtimes/transformers.ts";
import { makeRegistry } from "../../core/contract/registry.ts";
import type { Facts } from "../../core/mod.ts";

const model: Facts["model"] = {
  model_name: "m",
  source: "checkpoint",
  path: "/m",
  revision: null,
  architecture: "LlamaForCausalLM",
  model_type: "llama",
  dtype: "float32",
  parameters: 1000,
  embedding_parameters: 400,
  linear_parameters: 600,
  original_bytes: 4000,
  fp16_bytes: 2000,
  tied_embeddings: true,
  layers: 2,
  hidden_size: 64,
  intermediate_size: 96,
  heads: 4,
  kv_heads: 2,
  vocabulary: 320,
  context_length: 256,
  linear_shapes: [],
  group_sizes: [32],
  grid: null,
  chat_template: false,
  custom_code: false,
};

const facts: Facts = {
  model,
  device: {
    device: "cpu",
    device_name: "a CPU",
    cores: 2,
    memory_gb: 24,
    free_memory_gb: 20,
    vram_gb: null,
    free_vram_gb: null,
    compute_capability: null,
    free_disk_gb: 50,
    bf16: true,
    torch_version: "2.13.0",
    torch_build: "cpu",
    energy_reader: "estimate",
    platform: "Linux",
  },
  dataset: { dataset: "tiny", kind: "named", path: null, format: null, rows: null, sha256: null },
};

function reason(changes: { model?: Partial<Facts["model"]>; device?: Partial<Facts["device"]> }) {
  const support = openvino.supports({
    ...facts,
    model: { ...model, ...changes.model },
    device: { ...facts.device, ...changes.device },
  });
  return support.ok ? null : support.reason;
}

Deno.test("openvino supports a Llama on a CPU and is preferred to transformers", () => {
  assert.equal(openvino.supports(facts).ok, true);
  assert.ok(openvino.preference > transformers.preference);
});

Deno.test("openvino says why it does not fit: a GPU, own code, an architecture", () => {
  assert.match(reason({ device: { device: "cuda", device_name: "an H200" } }) ?? "", /an H200/);
  assert.match(reason({ model: { custom_code: true } }) ?? "", /own code/);
  assert.match(reason({ model: { architecture: "GPT2LMHeadModel" } }) ?? "", /GPT2LMHeadModel/);
});

Deno.test("transformers fits every model and machine", () => {
  const other = { ...facts, model: { ...model, architecture: "GPT2LMHeadModel" } };
  assert.equal(transformers.supports(other).ok, true);
});

Deno.test("makeRegistry() takes both runtimes, and only openvino needs an export", () => {
  const registry = makeRegistry([
    { path: "/openvino.ts", plugin: openvino },
    { path: "/transformers.ts", plugin: transformers },
  ]);
  assert.deepEqual(
    registry.runtimes.map((runtime) => [runtime.name, runtime.needs.export_environment]),
    [["openvino", "openvino_export"], ["transformers", null]],
  );
});
