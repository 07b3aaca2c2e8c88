import type { ServerPlan } from "../schema.ts";
import { bareAndContained, flag, type Served } from "./served.ts";

/** `--kv_cache_dtype` came with pull request 11487, of March 2026: 1.3.0rc1 of January has none. */
const IMAGE = "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc14";

/** Its names of types of the cache. */
const cacheName = (type: string) => /^fp8/.test(type) ? "fp8" : type === "nvfp4" ? type : null;

/** The share of what is free once weights are loaded, which this server asks for in place of the whole. */
function freeShare({ layout: { memory } }: Served): string {
  const free = Math.max(1, memory.total - memory.weights);
  return Math.max(.05, Math.min(.95, memory.cache / free)).toFixed(2);
}

function words(served: Served, model: string, host: string): string[] {
  const { layout } = served;
  return [
    ...[model, "--host", host, "--port", String(served.port)],
    ...["--tp_size", String(layout.tensor_parallel), "--pp_size", String(layout.pipeline_parallel)],
    ...["--max_seq_len", String(layout.context)],
    ...["--kv_cache_free_gpu_memory_fraction", freeShare(served)],
    ...flag("--max_batch_size", served.sequences > 1 ? served.sequences : null),
    ...flag("--kv_cache_dtype", cacheName(served.cache_type)),
    ...(served.own_code ? ["--trust_remote_code"] : []),
  ];
}

/** `trtllm-serve`, bare and in NVIDIA's image. */
export function tensorrtCommand(served: Served): ServerPlan {
  const { card, forms } = served;
  const warnings: string[] = [];
  const nvidia = card.capability !== null;
  if (!nvidia) warnings.push(`TensorRT-LLM runs on NVIDIA's cards alone, and ${card.name} is none`);
  const old = nvidia && card.capability! < 8;
  if (old) {
    warnings.push(
      `TensorRT-LLM's PyTorch backend needs compute capability 8.0: ${card.name} has ${
        card.capability!.toFixed(1)
      }`,
    );
  }
  if (/bitsandbytes|compressed-tensors/.test(forms.main.method ?? "")) {
    warnings.push(
      `TensorRT-LLM does not read ${forms.main.method}: it takes NVIDIA's ModelOpt, FP8, AWQ and GPTQ`,
    );
  }
  return {
    ...bareAndContained(served, {
      ...{ image: IMAGE, start: ["trtllm-serve"], words },
      options: ["--ulimit", "memlock=-1", "--ulimit", "stack=67108864"],
    }),
    warnings,
    runs: nvidia && !old,
  };
}
