import type { ServerPlan } from "../schema.ts";
import { bareAndContained, type Served } from "./served.ts";

const IMAGE = "ghcr.io/ggml-org/llama.cpp:server-cuda";

/** llama.cpp's types of the cache: its 8-bit one has a scale for every 32 values. */
const cacheName = (type: string) =>
  /^(auto|bfloat16)$/.test(type) ? null : type === "nvfp4" ? "q4_0" : "q8_0";

function fileOf(served: Served): string {
  if (served.model.endsWith(".gguf")) return served.model;
  const name = served.model.replace(/\/+$/, "").split("/").at(-1)!;
  return `${name}.gguf`;
}

function words(served: Served, file: string, host: string): string[] {
  const { layout, sequences } = served;
  const type = cacheName(served.cache_type);
  return [
    ...["--model", file, "--host", host, "--port", String(served.port)],
    // One number for all slots together.
    ...["--ctx-size", String(layout.context * sequences), "--parallel", String(sequences)],
    ...["--n-gpu-layers", "999", "--flash-attn", "on"],
    ...(layout.cards > 1
      ? ["--split-mode", "layer", "--tensor-split", Array(layout.cards).fill("1").join(",")]
      : []),
    ...(type === null ? [] : ["--cache-type-k", type, "--cache-type-v", type]),
    "--jinja",
  ];
}

/** `llama-server`, bare and in its image. */
export function llamaCppCommand(served: Served): ServerPlan {
  const file = fileOf(served);
  const warnings = [];
  if (file !== served.model) {
    warnings.push(
      `llama.cpp reads a GGUF file: make ${file} by \`pare convert\`, or take one of the hub`,
    );
  }
  if (served.layout.cards > 1) {
    warnings.push(
      "llama.cpp gives whole layers to cards: they work one after the other on a sequence",
    );
  }
  return {
    ...bareAndContained(served, {
      ...{ image: IMAGE, start: ["llama-server"], entry: true, words },
      model: { here: file, contained: `/models/${file.split("/").at(-1)}` },
      ...{ mounts_nothing: true, options: ["-v", "./models:/models:ro"] },
    }),
    warnings,
    runs: true,
  };
}
