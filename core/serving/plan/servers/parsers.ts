import { familyOf } from "../model/families.ts";
import type { TextConfig } from "../model/config.ts";

/** Names of a server's parser of tool calls; null: none is known for the model. */
export interface Parsers {
  readonly vllm: string | null;
  readonly sglang: string | null;
  readonly openvino: string | null;
}

/** What a model's name says that its config does not: two families share an architecture. */
const BY_NAME: readonly (readonly [RegExp, Partial<Parsers>])[] = [
  [/qwen3[-_.]?coder/i, { vllm: "qwen3_coder", sglang: "qwen3_coder", openvino: "qwen3coder" }],
  [/deepseek[-_.]?v3\.1/i, { vllm: "deepseek_v31", sglang: "deepseekv31" }],
  [/deepseek[-_.]?v3\.2/i, { vllm: "deepseek_v32", sglang: "deepseekv32" }],
  [/kimi[-_.]?k2/i, { vllm: "kimi_k2", sglang: "kimi_k2" }],
  [/glm[-_.]?4\.[567]/i, { vllm: "glm45", sglang: "glm45" }],
  [/llama[-_.]?4/i, { vllm: "llama4_pythonic", sglang: "pythonic" }],
  [/llama[-_.]?3\.2.*[-_.](1|3)b/i, { vllm: "pythonic", sglang: "pythonic" }],
  [/llama[-_.]?3/i, { vllm: "llama3_json", sglang: "llama3", openvino: "llama3" }],
  [/hermes/i, { vllm: "hermes", sglang: "qwen25", openvino: "hermes3" }],
  [/granite/i, { vllm: "granite" }],
  [/mistral|ministral|devstral|magistral/i, {
    ...{ vllm: "mistral", sglang: "mistral", openvino: "mistral" },
  }],
];

const OPENVINO: Readonly<Record<string, string>> = {
  hermes: "hermes3",
  mistral: "mistral",
  llama3_json: "llama3",
  phi4_mini_json: "phi4",
  qwen3_coder: "qwen3coder",
};

/** The parsers of a model, by its name first, then by its family. */
export function parsersOf(config: TextConfig, model: string): Parsers {
  const named = BY_NAME.find(([pattern]) => pattern.test(model))?.[1] ?? {};
  const family = familyOf(config);
  const vllm = named.vllm ?? family.parser ?? null;
  return {
    vllm,
    sglang: named.sglang ?? family.sglang_parser ?? null,
    openvino: named.openvino ?? (vllm === null ? null : OPENVINO[vllm] ?? null),
  };
}
