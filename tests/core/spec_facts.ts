import type { Facts } from "../../core/mod.ts";

/** A model of 135 million parameters, a third of them the tied embedding, on two CPU cores. */
export function smallFacts(): Facts {
  return {
    model: {
      model_name: "small",
      source: "checkpoint",
      path: "/models/small",
      revision: null,
      architecture: "LlamaForCausalLM",
      model_type: "llama",
      dtype: "float32",
      parameters: 134_500_000,
      embedding_parameters: 28_300_000,
      linear_parameters: 106_200_000,
      original_bytes: 538_000_000,
      fp16_bytes: 269_000_000,
      tied_embeddings: true,
      layers: 30,
      hidden_size: 576,
      intermediate_size: 1536,
      heads: 9,
      kv_heads: 3,
      vocabulary: 49_152,
      context_length: 2048,
      linear_shapes: [{ out_features: 576, in_features: 576, count: 60 }],
      group_sizes: [16, 32, 64, 192],
      grid: null,
      chat_template: true,
      custom_code: false,
    },
    device: {
      device: "cpu",
      device_name: "two cores",
      cores: 2,
      memory_gb: 24,
      free_memory_gb: 20,
      vram_gb: null,
      free_vram_gb: null,
      compute_capability: null,
      free_disk_gb: 50,
      bf16: false,
      torch_version: "2",
      torch_build: "cpu",
      energy_reader: "estimate",
      platform: "linux",
    },
    dataset: {
      dataset: "words",
      kind: "named",
      path: null,
      format: null,
      rows: null,
      sha256: null,
    },
  };
}

/** A model of 8 billion parameters on a GPU of 48 GB. */
export function largeFacts(): Facts {
  const small = smallFacts();
  return {
    ...small,
    model: {
      ...small.model,
      model_name: "large",
      dtype: "bfloat16",
      parameters: 8_030_000_000,
      embedding_parameters: 1_050_000_000,
      linear_parameters: 6_979_000_000,
      original_bytes: 16_060_000_000,
      fp16_bytes: 16_060_000_000,
      tied_embeddings: false,
      layers: 32,
      hidden_size: 4096,
      intermediate_size: 14_336,
      heads: 32,
      kv_heads: 8,
      vocabulary: 128_256,
      group_sizes: [16, 32, 64, 128, 256],
    },
    device: {
      ...small.device,
      device: "cuda",
      device_name: "an accelerator",
      vram_gb: 48,
      free_vram_gb: 46,
      torch_build: "cuda",
      energy_reader: "nvml-counter",
    },
  };
}

export function withDataset(facts: Facts, dataset: string, more: Partial<Facts["dataset"]> = {}) {
  return { ...facts, dataset: { ...facts.dataset, dataset, ...more } };
}
