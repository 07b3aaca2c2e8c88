import { type Change, defineRuntime, type Facts, type Support } from "../../core/mod.ts";
import { isGgml, isWritten } from "../forms/ggml.ts";
import { isGrid } from "../forms/grid.ts";
import { holds, reads } from "./_gguf.ts";

/** Whose logits were seen to be transformers' in strict float32; of the others some are not (0.1.5). */
const PROVED = [
  "LlamaForCausalLM",
  "MistralForCausalLM",
  "MinistralForCausalLM",
  "Qwen2ForCausalLM",
  "Qwen3ForCausalLM",
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

/** Weights of a row that its products of several inputs take at once. */
const WIDE = 128;
/** Blocks of 32 with an offset. */
const OFFSET = ["Q4_1", "Q5_1"];

/**
 * Blocks with an offset, or that may be such, in rows that are no multiple of 128: products of 32 inputs and more
 * are wrong, by 1.5 to 1.9 nats on SmolLM2, whose rows have 576; of fewer they are right (0.1.5, AVX2).
 */
function wrongly({ form }: Change, { model }: Facts): number | null {
  const offset = form !== null &&
    (isGgml(form)
      ? form.kinds?.some((kind) => OFFSET.includes(kind)) ?? true
      : isGrid(form) && !form.symmetric);
  const rows = [model.hidden_size, ...model.linear_shapes.map((one) => one.in_features)];
  return offset ? rows.find((width) => width % WIDE !== 0) ?? null : null;
}

function holdsRightly(change: Change, facts: Facts): Support {
  const odd = wrongly(change, facts);
  if (odd === null) return holds(change, facts);
  const reason =
    `it multiplies blocks with an offset wrongly where rows are no multiple of ${WIDE}` +
    ` weights, and some have ${odd}`;
  return { ok: false, reason };
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
  holds: holdsRightly,
  skips: ({ form }) => form !== null && isGgml(form),
  reads,
  // Nobody gets it unasked: its environment is made on request.
  preference: 9,
});
