import {
  type Change,
  choice,
  defineCaches,
  defineRuntime,
  type Facts,
  flag,
  type HeldPart,
  type Support,
} from "../../core/mod.ts";
import { isAdapter } from "../forms/adapter.ts";
import { isDecoded } from "../forms/_decoded.ts";
import { isGrid } from "../forms/grid.ts";
import { THREADS } from "./_threads.ts";

/**
 * Architectures whose exported graph was seen to hold every weight as a constant of its own, and to
 * give the model's logits with an artifact's weights in their places. Not among them: OPT (a bias is
 * folded with its scale), Gemma (optimum-intel does not export it with the transformers it comes
 * with), mixtures (their experts are laid out anew).
 */
const EXPORTED = [
  "BloomForCausalLM",
  "FalconForCausalLM",
  "GPT2LMHeadModel",
  "GPTJForCausalLM",
  "GPTNeoXForCausalLM",
  "GraniteForCausalLM",
  "LlamaForCausalLM",
  "MistralForCausalLM",
  "Phi3ForCausalLM",
  "Qwen2ForCausalLM",
  "Qwen3ForCausalLM",
];

const FLOAT_BYTES = 4;
const STORED_SCALE_BYTES = 2;
const LEAST_BITS = 4;
const AS_THE_ARTIFACT = -1;

const caches = defineCaches({
  forgets: false,
  knobs: {
    kv_precision: choice(["f32", "f16", "u8"], {
      default: "f32",
      unit: "type",
      description: "Keys and values are stored so",
    }),
    inference_precision: choice(["f32", "bf16"], {
      default: "f32",
      unit: "type",
      description: "Floats are computed so",
    }),
    input_group: choice([AS_THE_ARTIFACT, 0, 32, 64, 128], {
      default: AS_THE_ARTIFACT,
      unit: "features",
      description:
        "Inputs of packed weights share a scale of 8 bits in groups of so many; 0 = they " +
        "stay floats, -1 = as the artifact says",
    }),
    threads: THREADS,
    pinning: flag({
      default: true,
      description: "Whether each thread stays on a core of its own",
      aliases: ["enable_cpu_pinning"],
    }),
  },
  settings: {
    full_f32: {},
    full_f16: { kv_precision: "f16" },
    full_u8: { kv_precision: "u8" },
    inputs_32: { input_group: 32 },
    bf16: { inference_precision: "bf16" },
    one_thread: { threads: 1 },
    not_pinned: { pinning: false },
  },
  refuses: () => null,
  launch: ({ kv_precision, inference_precision, input_group, threads, pinning }) => [
    `KV_CACHE_PRECISION=${kv_precision}`,
    `INFERENCE_PRECISION_HINT=${inference_precision}`,
    ...(input_group === AS_THE_ARTIFACT ? [] : [`DYNAMIC_QUANTIZATION_GROUP_SIZE=${input_group}`]),
    ...(threads === 0 ? [] : [`INFERENCE_NUM_THREADS=${threads}`]),
    ...(pinning ? [] : ["ENABLE_CPU_PINNING=false"]),
  ],
});

function supports({ model, device }: Facts): Support {
  if (device.device !== "cpu") {
    return { ok: false, reason: `it runs on the CPU, the study is on ${device.device_name}` };
  }
  if (model.custom_code) {
    return { ok: false, reason: "the model brings its own code, which cannot be exported" };
  }
  if (!EXPORTED.includes(model.architecture)) {
    return {
      ok: false,
      reason: `it exports ${EXPORTED.join(", ")}, the model is ${model.architecture}`,
    };
  }
  return { ok: true, reason: "computes on the packed integers of the written file" };
}

function holds({ effect, form }: Change): Support {
  if (effect === "caches") return { ok: false, reason: "its graph keeps all keys and values" };
  if (form !== null && isGrid(form) && form.activation_range === "static") {
    return { ok: false, reason: "it rounds inputs by what they are, not by a fixed range" };
  }
  // What is decoded are floats like others there, and an adapter is added to its weights: the graph
  // gains nothing by either.
  if (form === null || isGrid(form) || isDecoded(form) || isAdapter(form)) return { ok: true };
  return { ok: false, reason: `its graph takes no weights stored as ${form.form}` };
}

/** Integers of fewer than 4 bits are held as 4, scales and what is no integer as float32. */
function reads({ form, weights, stored_bytes }: HeldPart): number {
  if (form === null || !isGrid(form)) return FLOAT_BYTES * weights;
  const wider = weights * Math.max(0, LEAST_BITS - form.bits) / 8;
  const scales = form.group_size === -1 ? 0 : weights / form.group_size;
  return stored_bytes + wider + (FLOAT_BYTES - STORED_SCALE_BYTES) * scales;
}

export default defineRuntime({
  name: "openvino",
  summary: "Runs the artifact's own integers in an OpenVINO graph on the CPU",
  needs: { environment: "default", gpu: false },
  form: { environment: "openvino_export", shared: "architecture" },
  supports,
  precisions: ({ device }) => device.bf16 ? ["f32", "bf16"] : ["f32"],
  loads: "openvino",
  formats:
    "integers of 2 to 8 bits in any groups, 2 and 3 bits as 4; floats, pruned and decoded ones " +
    "too, as float32, a model of floats alone in bfloat16 where that is faster",
  holds,
  reads,
  caches,
  preference: 100,
});
