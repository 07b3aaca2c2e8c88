import {
  choice,
  defineCaches,
  defineRuntime,
  type Facts,
  flag,
  type Support,
} from "../../core/mod.ts";
import { isGgml, isWritten } from "../forms/ggml.ts";
import { holds, reads } from "./_gguf.ts";
import { THREADS } from "./_threads.ts";

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
