import type { ServerPlan } from "../schema.ts";
import { bareAndContained, flag, type Served } from "./served.ts";

const IMAGE = "lmsysorg/sglang:latest";

function methodName({ forms }: Served): string | null {
  const { method } = forms.main;
  return method === "bitsandbytes" || method === "compressed-tensors" || method === null
    ? null
    : method;
}

/** SGLang knows two types of 8 bits. */
function cacheName({ cache_type }: Served): string | null {
  if (cache_type === "auto") return null;
  if (cache_type === "bfloat16") return "bf16";
  return cache_type === "fp8_e5m2" ? "fp8_e5m2" : "fp8_e4m3";
}

/** The share of a card for weights and cache alone, which this server asks for in place of the whole. */
function staticShare({ layout: { memory } }: Served): string {
  return (Math.floor(100 * (memory.weights + memory.cache) / memory.total) / 100).toFixed(2);
}

function words(served: Served, model: string, host: string): string[] {
  const { layout, parsers } = served;
  return [
    ...["--model-path", model],
    ...["--host", host, "--port", String(served.port)],
    ...["--tp-size", String(layout.tensor_parallel)],
    ...(layout.pipeline_parallel > 1 ? ["--pp-size", String(layout.pipeline_parallel)] : []),
    ...["--context-length", String(layout.context)],
    ...["--mem-fraction-static", staticShare(served)],
    ...flag("--max-running-requests", served.sequences > 1 ? served.sequences : null),
    ...flag("--quantization", methodName(served)),
    ...flag("--kv-cache-dtype", cacheName(served)),
    ...flag("--tool-call-parser", parsers.sglang),
    ...(served.own_code ? ["--trust-remote-code"] : []),
  ];
}

/** `sglang.launch_server`, bare and in its image. */
export function sglangCommand(served: Served): ServerPlan {
  const warnings = [
    "SGLang's --mem-fraction-static is of weights and cache alone: activations and graphs, by the plan's " +
    "rules of thumb, are left out of it",
  ];
  if (served.parsers.sglang === null) {
    warnings.push(`No parser of tool calls is known for ${served.config.model_type} in SGLang`);
  }
  if (/per_token_head|nvfp4|ds_mla/.test(served.cache_type)) {
    warnings.push(`SGLang has no cache in ${served.cache_type}: fp8_e4m3 stands in the command`);
  }
  return {
    ...bareAndContained(served, {
      ...{ image: IMAGE, start: ["python3", "-m", "sglang.launch_server"], words },
      options: ["--shm-size", "32g"],
    }),
    warnings,
    runs: served.card.capability === null || served.card.capability >= 7.5,
  };
}
