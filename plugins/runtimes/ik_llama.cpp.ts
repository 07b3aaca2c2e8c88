import { defineRuntime, type Facts, type Support } from "../../core/mod.ts";
import { isGgml, isWritten } from "../forms/ggml.ts";
import { holds, reads } from "./_gguf.ts";

/** Whose logits were seen to be transformers' in strict float32; of the others some are not (0.1.5). */
const PROVED = [
  "LlamaForCausalLM",
  "MistralForCausalLM",
  "MinistralForCausalLM",
  "Qwen2ForCausalLM",
  "Qwen3ForCausalLM",
  "Qwen3_5ForCausalLM",
  "SmolLM3ForCausalLM",
  "GemmaForCausalLM",
  "GPTNeoXForCausalLM",
  "StableLmForCausalLM",
  "PhiForCausalLM",
  "CohereForCausalLM",
  "Cohere2ForCausalLM",
  "OlmoForCausalLM",
  "BitNetForCausalLM",
  "SeedOssForCausalLM",
  "Ernie4_5ForCausalLM",
  "FalconForCausalLM",
  "Qwen2MoeForCausalLM",
  "Qwen3MoeForCausalLM",
  "Qwen3_5MoeForCausalLM",
  "Glm4MoeForCausalLM",
  "SolarOpenForCausalLM",
  "Ernie4_5_MoeForCausalLM",
  "Dots1ForCausalLM",
  "MiniMaxM2ForCausalLM",
  "GptOssForCausalLM",
];

function supports(facts: Facts): Support {
  const { device, model } = facts;
  if (device.device !== "cpu") {
    return { ok: false, reason: `it runs on the CPU, the study is on ${device.device_name}` };
  }
  if (!device.instructions?.includes("avx2")) {
    return { ok: false, reason: "its wheel is built for processors with AVX2" };
  }
  const written = isWritten(facts);
  if (!written.ok) return written;
  return PROVED.includes(model.architecture)
    ? { ok: true, reason: "computes on the written integers in blocks of 32" }
    : { ok: false, reason: `its logits of ${model.architecture} are not known to be the model's` };
}

export default defineRuntime({
  name: "ik_llama.cpp",
  summary: "Runs the GGUF file in ik_llama.cpp, a fork of llama.cpp that is faster on k-quants",
  needs: { environment: "ik_llama_cpp", gpu: false },
  form: { environment: "default", shared: "artifact" },
  supports,
  precisions: () => ["f16"],
  loads: "gguf",
  formats: "those of llama.cpp, laid out anew as they are loaded",
  holds,
  skips: ({ form }) => form !== null && isGgml(form),
  reads,
  // Nobody gets it unasked: its environment is made on request.
  preference: 9,
});
