import assert from "node:assert/strict";
import llama from "../../plugins/runtimes/llama.cpp.ts";
import ik from "../../plugins/runtimes/ik_llama.cpp.ts";
import openvino from "../../plugins/runtimes/openvino.ts";
import genai from "../../plugins/runtimes/openvino_genai.ts";
import transformers from "../../plugins/runtimes/transformers.ts";
import vllm from "../../plugins/runtimes/vllm.ts";
import { makeRegistry } from "../../core/contract/registry.ts";
import {
  type Facts,
  type KnobValue,
  namedCache,
  type Part,
  resolveCache,
  type Runtime,
} from "../../core/mod.ts";
import type { GridForm } from "../../plugins/forms/grid.ts";

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
  linear_shapes: [
    { count: 2, out_features: 96, in_features: 64 },
    { count: 2, out_features: 64, in_features: 96 },
  ],
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

interface Changes {
  model?: Partial<Facts["model"]>;
  device?: Partial<Facts["device"]>;
}

/** Why a runtime does not run a changed model or machine; null where it does. */
function reason(changes: Changes, runtime: Runtime = openvino) {
  const support = runtime.supports({
    ...facts,
    model: { ...model, ...changes.model },
    device: { ...facts.device, ...changes.device },
  });
  return support.ok ? null : support.reason;
}

const plain: GridForm = {
  form: "grid",
  bits: 4,
  group_size: 32,
  symmetric: true,
  activation_group_size: null,
};

/** Why a runtime cannot hold weights stored so; null where it can. */
function unheld(
  runtime: Runtime,
  { part = "linear", ...changes }: Partial<GridForm> & { part?: Part },
  where: Facts = facts,
) {
  const form: GridForm = { ...plain, ...changes };
  const held = runtime.holds({ part, effect: "rounds", form, least_cosine: 0.1 }, where);
  return held.ok ? null : held.reason;
}

Deno.test("openvino supports a Llama on a CPU and is preferred to transformers", () => {
  assert.equal(openvino.supports(facts).ok, true);
  assert.ok(openvino.preference > transformers.preference);
});

Deno.test("openvino says why it does not fit: a GPU, own code, an architecture", () => {
  assert.match(reason({ device: { device: "cuda", device_name: "an H200" } }) ?? "", /an H200/);
  assert.match(reason({ model: { custom_code: true } }) ?? "", /own code/);
  assert.match(reason({ model: { architecture: "OPTForCausalLM" } }) ?? "", /OPTForCausalLM/);
});

Deno.test("transformers fits every model and machine", () => {
  const other = { ...facts, model: { ...model, architecture: "OPTForCausalLM" } };
  assert.equal(transformers.supports(other).ok, true);
});

Deno.test("makeRegistry() takes every runtime, and two have a form of their own", () => {
  const registry = makeRegistry(
    [["llama.cpp", llama], ["openvino", openvino], ["transformers", transformers], ["vllm", vllm]]
      .map(([name, plugin]) => ({ path: `/${name}.ts`, plugin: plugin as Runtime })),
  );
  assert.deepEqual(
    registry.runtimes.map(({ name, form }) => [name, form?.environment, form?.shared]),
    [
      ["llama.cpp", "default", "artifact"],
      ["openvino", "openvino_export", "architecture"],
      ["transformers", undefined, undefined],
      ["vllm", undefined, undefined],
    ],
  );
});

Deno.test("ik_llama.cpp runs what it was proved with, on AVX2, but blocks with an offset in odd rows", () => {
  const device = { instructions: ["avx2"] };
  assert.equal(reason({ device }, ik), null);
  assert.match(reason({}, ik) ?? "", /AVX2/);
  const mixtral = reason({ device, model: { architecture: "MixtralForCausalLM" } }, ik);
  assert.match(mixtral ?? "", /its logits of MixtralForCausalLM are not known to be the model's/);
  const odd =
    /blocks with an offset wrongly where rows are no multiple of 128 weights, and some have 64/;
  assert.equal(unheld(ik, {}), null);
  assert.match(unheld(ik, { symmetric: false }) ?? "", odd);
  const ggml = (kinds: readonly string[] | null, where: Facts) => {
    const form = { form: "ggml", mix: "Q5_K_M", bits: 5, kinds };
    const held = ik.holds({ part: "linear", effect: "rounds", form, least_cosine: 0.9 }, where);
    return held.ok ? null : held.reason;
  };
  assert.match(ggml(["Q5_0", "Q5_1"], facts) ?? "", odd);
  assert.match(ggml(null, facts) ?? "", odd, "they may be");
  assert.equal(ggml(["Q5_0", "Q8_0"], facts), null);
  const linear_shapes = [{ count: 2, out_features: 128, in_features: 256 }];
  const even = { ...facts, model: { ...model, hidden_size: 128, linear_shapes } };
  assert.equal(ggml(null, even), null);
  assert.equal(unheld(ik, { symmetric: false }, even), null);
});

Deno.test("openvino_genai runs what openvino does, where it is asked for", () => {
  assert.equal(genai.supports(facts).ok, true);
  assert.ok(genai.preference < 10);
  assert.equal(unheld(genai, { bits: 3, group_size: 64 }), null);
  const cut = genai.holds(
    { part: "cache", effect: "caches", form: null, least_cosine: null },
    facts,
  );
  assert.match(cut.ok ? "" : cut.reason, /settings of its own, which `pare caches` measures/);
});

Deno.test("a cache's setting has a value for every knob, and what fits none is a sentence", () => {
  const { caches } = genai;
  assert.ok(caches !== undefined);
  for (const [name, given] of Object.entries(caches.settings)) {
    const { params } = resolveCache(caches, name, given as Record<string, KnobValue>);
    assert.deepEqual(Object.keys(params), Object.keys(caches.knobs));
  }
  const refusal = (given: Record<string, KnobValue>) => {
    try {
      resolveCache(caches, "mine", given);
    } catch (error) {
      return (error as Error).message;
    }
    return null;
  };
  const start = "Cannot keep a cache as mine: ";
  assert.equal(refusal({ eviction: "sum", max_cache_size: 256 }), null);
  for (
    const [given, said] of [
      [{ eviction: "sum", max_cache_size: 500 }, "max_cache_size is 500 tokens, no multiple of"],
      [{ eviction: "sum", start_size: 8 }, "start_size is 8 tokens, no multiple of the 32"],
      [
        { eviction: "sum", max_cache_size: 160 },
        "start_size and recent_size keep 160 tokens: a max_cache_size of 160 leaves no room",
      ],
      [{ rotation: true }, "rotation is of what an eviction leaves, and eviction is none"],
      [{ kvcrush_blocks: 2 }, "kvcrush_blocks is 2, and eviction is none"],
      [{ eviction: "adaptive_rkv", kvcrush_blocks: 2 }, "adaptive_rkv chooses what KVCrush would"],
      [{ sparse_prefill: "trishape", seen_recent: 100 }, "seen_recent is 100 tokens, no multiple"],
      [{ kv_precision: "u4" }, 'kv_precision cannot be "u4", it is one of f32, f16, u8'],
      [{ threshold: 2 }, "threshold cannot be 2, it is a number from 0.05 to 1 (share of"],
      [{ evicton: "sum" }, 'Unknown knob "evicton". Did you mean "eviction"?'],
    ] satisfies [Record<string, KnobValue>, string][]
  ) {
    assert.ok(
      refusal(given)?.startsWith(start + said),
      `${JSON.stringify(given)}: ${refusal(given)}`,
    );
  }
  assert.throws(() => namedCache(caches, "full_u9"), /Did you mean "full_u8"/);
});

Deno.test("at a study's context openvino_genai also evicts to a half and a quarter of it, in whole blocks", () => {
  const sized = (tokens: number) =>
    genai.caches!.sized!(tokens).map((given) => {
      const { params } = resolveCache(genai.caches!, "sized", given);
      return [params["max_cache_size"], params["recent_size"]];
    });
  assert.deepEqual(sized(8192), [[4096, 128], [2048, 128]]);
  assert.deepEqual(sized(1000), [[480, 96], [224, 32]]);
  assert.deepEqual(sized(200), [[96, 32]], "a quarter has no room for a choice");
  assert.deepEqual(sized(64), []);
});

Deno.test("llama.cpp and openvino have settings too, and the first is what trials are timed with", () => {
  for (const { name, caches } of [llama, openvino]) {
    assert.ok(caches !== undefined && !caches.forgets, name);
    const [first] = Object.keys(caches.settings);
    const own = caches.knobs["kv_precision"]!.default;
    for (const [setting, given] of Object.entries(caches.settings)) {
      const { params } = resolveCache(caches, setting, given as Record<string, KnobValue>);
      const [, named = own] = /_(f32|f16|q8_0|u8)$/.exec(setting) ?? [];
      assert.equal(params["kv_precision"], named, setting);
    }
    assert.deepEqual(caches.settings[first!], {}, name);
  }
  assert.ok(genai.caches?.forgets);
  assert.throws(
    () => resolveCache(llama.caches!, "mine", { kv_precision: "q8_0", flash_attention: false }),
    /values in q8_0 are read by flash attention alone: set flash_attention too/,
  );
  assert.throws(
    () => resolveCache(llama.caches!, "mine", { kv_precision: "f32" }),
    /flash attention reads keys and values as f16: set flash_attention to false for f32/,
  );
});

Deno.test("vllm runs only where it is asked for; llama.cpp is second to OpenVINO where none was timed", () => {
  assert.ok(vllm.preference < transformers.preference);
  assert.ok(llama.preference > transformers.preference && llama.preference < openvino.preference);
});

Deno.test("llama.cpp says why it does not fit: a GPU, own code, an architecture", () => {
  assert.equal(reason({}, llama), null);
  const gpu = { device: "cuda", device_name: "an H200" } as const;
  assert.match(reason({ device: gpu }, llama) ?? "", /CPU.*an H200/);
  assert.match(reason({ model: { custom_code: true } }, llama) ?? "", /own code/);
  assert.equal(reason({ model: { architecture: "Qwen3ForCausalLM" } }, llama), null);
  const gpt2 = { model: { architecture: "OPTForCausalLM" } };
  assert.match(reason(gpt2, llama) ?? "", /written of LlamaForCausalLM, .*is OPTForCausalLM/);
});

Deno.test("llama.cpp is no runtime of a model whose config allows no GGUF file", () => {
  const no_gguf = "no GGUF file of it is written: its n_groups is 2";
  const other = { ...facts, model: { ...facts.model, no_gguf } };
  assert.deepEqual(llama.supports(other), { ok: false, reason: no_gguf });
  assert.equal(reason({ model: { architecture: "PhimoeForCausalLM", no_gguf } }, llama), no_gguf);
  assert.ok(llama.supports({ ...facts, model: { ...facts.model, no_gguf: null } }).ok);
});

Deno.test("llama.cpp holds integers in blocks of 32, and says what it cannot hold", () => {
  for (const bits of [2, 3, 4]) {
    for (const symmetric of [true, false]) {
      for (const group_size of [32, 64, 96]) {
        assert.equal(unheld(llama, { bits, symmetric, group_size }), null);
      }
    }
  }
  assert.equal(unheld(llama, { bits: 8, group_size: -1 }), null);
  assert.equal(unheld(llama, { part: "embedding", group_size: -1 }), null);
  assert.match(unheld(llama, { bits: 8, symmetric: false }) ?? "", /8-bit integers with a zero/);
  assert.match(unheld(llama, { group_size: 48 }) ?? "", /32 weights.*groups of 48/);
  const odd = { ...facts, model: { ...model, hidden_size: 72 } };
  assert.match(unheld(llama, { part: "embedding", group_size: -1 }, odd) ?? "", /groups of 72/);
});

Deno.test("vllm needs a GPU, and says which formats its kernels do not take", () => {
  assert.match(reason({}, vllm) ?? "", /needs a GPU.*a CPU/);
  assert.equal(reason({ device: { device: "cuda" } }, vllm), null);
  assert.equal(unheld(vllm, {}), null);
  assert.equal(unheld(vllm, { bits: 8, group_size: -1, activation_group_size: -1 }), null);
  assert.match(unheld(vllm, { bits: 3 }) ?? "", /4 or 8 bits, not 3/);
  assert.match(unheld(vllm, { group_size: 48 }) ?? "", /groups are -1, 32, 64, 128 .*, not 48/);
  assert.equal(unheld(vllm, { symmetric: false }), null);
  assert.match(unheld(vllm, { bits: 8, symmetric: false }) ?? "", /no zero points with 8 bits/);
  assert.match(unheld(vllm, { part: "embedding" }) ?? "", /embedding in floats/);
  assert.match(unheld(vllm, { bits: 8, activation_group_size: 64 }) ?? "", /groups of 64/);
});

Deno.test("openvino and transformers hold what pare's methods store", () => {
  for (const one of [openvino, transformers]) {
    assert.equal(unheld(one, { bits: 3, group_size: 48, symmetric: false }), null);
  }
});
