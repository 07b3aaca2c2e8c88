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
import { isGgml, isWritten } from "../forms/ggml.ts";
import { isGrid } from "../forms/grid.ts";
import { THREADS } from "./_threads.ts";

/** Weights that share a scale in every format that holds plain integers. */
const BLOCK = 32;
const OFFSET_BITS = 4;
const SCALE_BITS = 16;
const FLOAT_BYTES = 2;

/** What its own programs are told by -ctk and -ctv, -fa, -t and --no-repack; told nothing, they run the same. */
const caches = defineCaches({
  forgets: false,
  knobs: {
    kv_precision: choice(["f32", "f16", "q8_0"], {
      default: "f16",
      unit: "type",
      description: "Keys and values are stored so; q8_0 are integers of 8 bits in blocks of 32",
      aliases: ["cache_type_k"],
    }),
    flash_attention: flag({
      default: true,
      description: "Whether attention is computed block by block, with no matrix of scores",
    }),
    threads: THREADS,
    repack: flag({
      default: true,
      description: "Whether packed weights are laid out anew for this processor as they are loaded",
    }),
  },
  settings: {
    flash_f16: {},
    flash_q8_0: { kv_precision: "q8_0" },
    full_f16: { flash_attention: false },
    full_f32: { kv_precision: "f32", flash_attention: false },
    one_thread: { threads: 1 },
    not_repacked: { repack: false },
  },
  refuses: ({ kv_precision, flash_attention }) => {
    if (kv_precision === "q8_0" && !flash_attention) {
      return "values in q8_0 are read by flash attention alone: set flash_attention too";
    }
    return kv_precision === "f32" && flash_attention
      ? "flash attention reads keys and values as f16: set flash_attention to false for f32"
      : null;
  },
  launch: ({ kv_precision, flash_attention, threads, repack }) => [
    ...["-ctk", kv_precision, "-ctv", kv_precision, "-fa", flash_attention ? "on" : "off"],
    ...(threads === 0 ? [] : ["-t", `${threads}`]),
    ...(repack ? [] : ["--no-repack"]),
  ],
});

function supports(facts: Facts): Support {
  const { device } = facts;
  if (device.device !== "cpu") {
    return { ok: false, reason: `it runs on the CPU, the study is on ${device.device_name}` };
  }
  const written = isWritten(facts);
  if (!written.ok) return written;
  return { ok: true, reason: "computes on the written integers in blocks of 32" };
}

function holds({ part, effect, form }: Change, { model }: Facts): Support {
  if (effect === "caches") return { ok: false, reason: "its file has no policy of a KV cache" };
  if (form === null || isDecoded(form) || isAdapter(form)) return { ok: true };
  if (!isGrid(form)) {
    return { ok: false, reason: `no GGUF file is written of weights stored as ${form.form}` };
  }
  const { bits, group_size, symmetric, activation_range } = form;
  if (activation_range === "static") {
    return { ok: false, reason: "it rounds inputs by what they are, not by a fixed range" };
  }
  if (bits > OFFSET_BITS && !symmetric) {
    return { ok: false, reason: `GGUF has no block of ${bits}-bit integers with a zero point` };
  }
  const rows = part === "embedding"
    ? [model.hidden_size]
    : model.linear_shapes.map(({ in_features }) => in_features);
  const odd = (group_size === -1 ? rows : [group_size]).find((width) => width % BLOCK !== 0);
  if (odd === undefined) return { ok: true };
  const reason =
    `a scale of GGUF is that of ${BLOCK} weights, which do not divide groups of ${odd}`;
  return { ok: false, reason };
}

/** A file's blocks: integers of 4 or 8 bits, a scale of 16 for each, an offset of 16 beside zero points. */
function reads({ form, weights }: HeldPart): number {
  if (form !== null && isGgml(form)) return weights * form.bits / 8;
  if (form === null || !isGrid(form)) return FLOAT_BYTES * weights;
  const own = (form.symmetric ? 1 : 2) * SCALE_BITS / BLOCK;
  return weights * (Math.max(OFFSET_BITS, form.bits) + own) / 8;
}

export default defineRuntime({
  name: "llama.cpp",
  summary: "Runs the artifact's own integers as a GGUF file in llama.cpp on the CPU",
  needs: { environment: "llama_cpp", gpu: false },
  form: { environment: "default", shared: "artifact" },
  supports,
  precisions: ({ device }) => device.bf16 ? ["f16", "bf16", "f32"] : ["f16", "f32"],
  loads: "gguf",
  formats: "integers of 2 to 4 bits, as 4, and symmetric ones of 8, in groups of 32·n or whole " +
    "rows; its own blocks as they are; inputs rounded to 8 bits in groups of 32 or 256; floats, " +
    "pruned and decoded ones too, as float16",
  holds,
  caches,
  skips: ({ form }) => form !== null && isGgml(form),
  reads,
  // Its numerics are not those of the evaluation: where nothing was timed, others come first.
  preference: 50,
});
