import { defineForm, type Facts, type StoredForm, type Support } from "../../core/mod.ts";

/** Blocks of llama.cpp: what a runtime must know of them. */
export interface GgmlForm extends StoredForm {
  readonly form: "ggml";
  /** As llama-quantize spells it, such as Q4_K_M. */
  readonly mix: string;
  /** Mean bits of a weight of the part, scales included. */
  readonly bits: number;
  /** Of its blocks, as they fit the rows; null: nobody knows before it is made, or read. */
  readonly kinds: readonly string[] | null;
}

/** Of its speed in any other runtime. */
export const DECODED =
  "llama.cpp and its forks alone multiply by its blocks: elsewhere they are decoded to floats " +
  "when the model is loaded, which take a float's bytes in memory and run no faster";

/** Architectures whose GGUF file is written (`runtimes/llama_cpp/architectures/known.py`). */
export const WRITTEN = [
  "LlamaForCausalLM",
  "MistralForCausalLM",
  "Qwen2ForCausalLM",
  "Qwen3ForCausalLM",
  "GraniteForCausalLM",
  "Gemma2ForCausalLM",
  "Gemma3ForCausalLM",
  "Olmo2ForCausalLM",
  "SmolLM3ForCausalLM",
  "Phi3ForCausalLM",
  "GemmaForCausalLM",
  "GPT2LMHeadModel",
  "GPTNeoXForCausalLM",
  "Starcoder2ForCausalLM",
  "StableLmForCausalLM",
  "PhiForCausalLM",
  "CohereForCausalLM",
  "OlmoForCausalLM",
  "BloomForCausalLM",
  "MptForCausalLM",
  "NemotronForCausalLM",
  "ArceeForCausalLM",
  "SeedOssForCausalLM",
  "Ernie4_5ForCausalLM",
  "MixtralForCausalLM",
  "Qwen2MoeForCausalLM",
  "Qwen3MoeForCausalLM",
  "OlmoeForCausalLM",
  "Olmo3ForCausalLM",
  "Cohere2ForCausalLM",
  "GlmForCausalLM",
  "Glm4ForCausalLM",
  "Exaone4ForCausalLM",
  "HunYuanDenseV1ForCausalLM",
  "GPTBigCodeForCausalLM",
  "Lfm2ForCausalLM",
  "Glm4MoeForCausalLM",
  "Ernie4_5_MoeForCausalLM",
  "Lfm2MoeForCausalLM",
  "HunYuanMoEV1ForCausalLM",
  "Dots1ForCausalLM",
  "MiniMaxM2ForCausalLM",
  "GraniteMoeForCausalLM",
  "GraniteMoeSharedForCausalLM",
  "GptOssForCausalLM",
  "FalconForCausalLM",
  "Jais2ForCausalLM",
  "ApertusForCausalLM",
  "DeepseekV2ForCausalLM",
  "DeepseekV3ForCausalLM",
  "Glm4MoeLiteForCausalLM",
  "Qwen3NextForCausalLM",
  "Qwen3_5ForCausalLM",
  "Qwen3_5MoeForCausalLM",
  "GraniteMoeHybridForCausalLM",
  "ExaoneMoeForCausalLM",
  "NemotronHForCausalLM",
  "FalconH1ForCausalLM",
  "BambaForCausalLM",
  "JambaForCausalLM",
  "MiniCPM3ForCausalLM",
  "Gemma4ForCausalLM",
  "DbrxForCausalLM",
  "KimiLinearForCausalLM",
  "MambaForCausalLM",
  "FalconMambaForCausalLM",
  "Mamba2ForCausalLM",
  "MinistralForCausalLM",
  "Ministral3ForCausalLM",
  "Llama4ForCausalLM",
  "SolarOpenForCausalLM",
  "YoutuForCausalLM",
  "AfmoeForCausalLM",
  "MiMoV2FlashForCausalLM",
  "GlmMoeDsaForCausalLM",
  "Gemma3nForCausalLM",
  "GraniteSWAForCausalLM",
  "GraniteMoeSWAForCausalLM",
  "MellumForCausalLM",
  "Cohere2MoeForCausalLM",
  "HYV3ForCausalLM",
  "LagunaForCausalLM",
  "DeepseekV32ForCausalLM",
  "HYV4ForCausalLM",
  "BitNetForCausalLM",
];

/** Whether a GGUF file of the model is written. */
export function isWritten({ model }: Facts): Support {
  const { no_gguf = null } = model;
  if (no_gguf !== null) return { ok: false, reason: no_gguf };
  if (!model.custom_code && WRITTEN.includes(model.architecture)) return { ok: true };
  const found = model.custom_code ? "brings its own code" : `is ${model.architecture}`;
  return {
    ok: false,
    reason: `a GGUF file is written of ${WRITTEN.join(", ")}, the model ${found}`,
  };
}

/** Weights of a block, and its bytes. */
const BLOCKS = {
  Q4_0: [32, 18],
  Q4_1: [32, 20],
  Q5_0: [32, 22],
  Q5_1: [32, 24],
  Q8_0: [32, 34],
  Q2_K: [256, 84],
  Q3_K: [256, 110],
  Q4_K: [256, 144],
  Q5_K: [256, 176],
  Q6_K: [256, 210],
  IQ2_S: [256, 82],
  IQ3_XXS: [256, 98],
  IQ3_S: [256, 110],
  IQ4_NL: [32, 18],
  IQ4_XS: [256, 136],
  F16: [1, 2],
} as const;

/** A type of ggml that holds integers with scales; F16: floats, which the quantizer leaves of some. */
export type BlockKind = keyof typeof BLOCKS;

/** Whether the quantizer can be asked for it. */
export function isBlockKind(name: string): name is BlockKind {
  return Object.hasOwn(BLOCKS, name) && name !== "F16";
}

/** What a matrix has once: its kind and its shape. */
const MATRIX_BYTES = 8 + 16;

export function isGgml(form: StoredForm): form is GgmlForm {
  return form.form === "ggml";
}

/** Weights of a block: a row must be whole ones. */
export function blockWeights(kind: BlockKind): number {
  return BLOCKS[kind][0];
}

/** Bytes of a block's experts in one tensor, each of so many weights: its shape has a third number. */
export function stackBytes(kind: BlockKind, weights: number, experts: number): number {
  return matrixBytes(kind, weights * experts) + 8;
}

/** Bytes of a matrix of so many weights. */
export function matrixBytes(kind: BlockKind, weights: number): number {
  const [block, bytes] = BLOCKS[kind];
  return weights / block * bytes + (kind === "F16" ? 0 : MATRIX_BYTES);
}

/** The bytes that a GGUF file holds, tensor by tensor; its Python half has gguf-py decode them. */
export default defineForm({
  name: "ggml",
  summary: "Blocks of 32 or 256 weights as llama.cpp's quantizer makes them",
});
