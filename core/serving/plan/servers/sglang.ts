import type { ServerPlan } from "../schema.ts";
import { docker, flag, MOUNTED, type Served } from "./served.ts";

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

function words(served: Served, model: string, host: string): string[] {
  const { layout, parsers } = served;
  return [
    ...["-m", "sglang.launch_server", "--model-path", model],
    ...["--host", host, "--port", String(served.port)],
    ...["--tp-size", String(layout.tensor_parallel)],
    ...(layout.pipeline_parallel > 1 ? ["--pp-size", String(layout.pipeline_parallel)] : []),
    ...["--context-length", String(layout.context)],
    ...["--mem-fraction-static", String(served.utilization)],
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
    "SGLang's --mem-fraction-static is weights and cache alone: activations and graphs come on top, so " +
    "lower it where it runs out of memory",
  ];
  if (served.parsers.sglang === null) {
    warnings.push(`No parser of tool calls is known for ${served.config.model_type} in SGLang`);
  }
  if (/per_token_head|nvfp4|ds_mla/.test(served.cache_type)) {
    warnings.push(`SGLang has no cache in ${served.cache_type}: fp8_e4m3 stands in the command`);
  }
  return {
    command: {
      program: "python3",
      args: words(served, served.model, "127.0.0.1"),
      environment: {},
    },
    container: docker(IMAGE, served, [
      "python3",
      ...words(served, served.local ? MOUNTED : served.model, "0.0.0.0"),
    ], { options: ["--shm-size", "32g"] }),
    warnings,
    runs: served.card.capability === null || served.card.capability >= 7.5,
  };
}
