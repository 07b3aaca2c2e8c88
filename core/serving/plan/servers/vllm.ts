import { bareAndContained, flag, type Served } from "./served.ts";
import type { ServerPlan } from "../schema.ts";

/** The release whose names of flags, parsers and methods are written. */
const VLLM = "0.32.0";
const IMAGE = `vllm/vllm-openai:v${VLLM}`;

/** What vLLM calls a method of quantization; null: it finds it by itself, or has none. */
function methodName({ forms, card }: Served): string | null {
  const { method } = forms.main;
  const marlin = card.capability !== null && card.capability >= 8;
  if (method === "gptq") return marlin ? "gptq_marlin" : "gptq";
  if (method === "awq") return marlin ? "awq_marlin" : "awq";
  // It loads it without a name, and knows none in this release.
  return method === "bitsandbytes" ? null : method;
}

function words(served: Served, model: string, host: string): string[] {
  const { layout, cache_type, utilization, config, card, parsers } = served;
  // Cards before Ampere have no bfloat16.
  const half = card.capability !== null && card.capability < 8;
  return [
    ...[model, "--host", host, "--port", String(served.port)],
    ...["--tensor-parallel-size", String(layout.tensor_parallel)],
    ...(layout.pipeline_parallel > 1
      ? ["--pipeline-parallel-size", String(layout.pipeline_parallel)]
      : []),
    ...["--max-model-len", String(layout.context)],
    ...["--gpu-memory-utilization", String(utilization)],
    ...flag("--max-num-seqs", served.sequences > 1 ? served.sequences : null),
    ...flag("--dtype", half ? "half" : null),
    ...flag("--quantization", methodName(served)),
    ...flag("--kv-cache-dtype", cache_type === "auto" ? null : cache_type),
    ...(parsers.vllm === null
      ? []
      : ["--enable-auto-tool-choice", "--tool-call-parser", parsers.vllm]),
    ...flag("--tokenizer-mode", config.model_type === "deepseek_v32" ? "deepseek_v32" : null),
    ...(served.own_code ? ["--trust-remote-code"] : []),
  ];
}

/** `vllm serve`, bare and in vLLM's image. */
export function vllmCommand(served: Served): ServerPlan {
  const { card, forms, layout } = served;
  const warnings: string[] = [];
  const runs = !(card.capability !== null && card.capability < 7);
  if (served.parsers.vllm === null) {
    warnings.push(
      `No parser of tool calls is known for ${served.config.model_type}: vllm serve --help lists them`,
    );
  }
  if (forms.main.method === "bitsandbytes") {
    warnings.push(`vLLM ${VLLM} names no bitsandbytes among its methods: quantize it otherwise`);
  }
  warnings.push(
    `vLLM ${VLLM} pins torch 2.13.0: install it alone in an environment, with no index of CUDA wheels`,
  );
  if (layout.cards > 8) {
    warnings.push(`${layout.cards} cards are several machines: start Ray on them first`);
  }
  const start = ["vllm", "serve"] as const;
  const commands = bareAndContained(served, { image: IMAGE, start, entry: true, words });
  return { ...commands, warnings, runs };
}
