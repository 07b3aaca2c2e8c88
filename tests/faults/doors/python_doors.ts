/** Doors of Python, each with a valid file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Door } from "./door.ts";

const ROWS = '{"prompt": "Two and two is", "answer": " four"}\n{"prompt": "q", "answer": "a"}\n';

const TASK = `task: own_sums
dataset_path: json
dataset_kwargs: { data_files: { test: rows.jsonl } }
output_type: multiple_choice
test_split: test
doc_to_text: "{{question}}\\nAnswer:"
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list:
  - { metric: acc, aggregation: mean, higher_is_better: true }
metadata: { version: 1.0 }
`;

const SCORES = {
  ...{ version: 1, score_granularity: "per_op", cache_config: { nsamples: 4, seqlen: 8 } },
  scheme: { bits: 4, group_size: 32, sym: true, data_type: "int" },
  layer_scores: { "l.0": [17_408, 0.5], "l.1": [17_408, 0.25] },
};

const TEMPLATE = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\n" +
  "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

/** A safetensors file of these tensors, all zeros but for those whose `values` are given. */
function safetensors(
  tensors: Readonly<Record<string, readonly [dtype: string, shape: number[], bytes: number]>>,
  values: Readonly<Record<string, Int32Array>>,
): Uint8Array {
  let at = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, [dtype, shape, bytes]]) => {
      const from = at;
      at += bytes;
      return [name, { dtype, shape, data_offsets: [from, at] }];
    }),
  );
  const text = new TextEncoder().encode(JSON.stringify(header));
  const whole = new Uint8Array(8 + text.length + at);
  new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
  whole.set(text, 8);
  for (const [name, own] of Object.entries(values)) {
    whole.set(new Uint8Array(own.buffer), 8 + text.length + header[name]!.data_offsets[0]!);
  }
  return whole;
}

const GPTQ = {
  quant_method: "gptq",
  bits: 4,
  group_size: 32,
  desc_act: false,
  sym: true,
  checkpoint_format: "gptq",
};

/** A layer as GPTQ packs it: 64 by 64 in 4 bits, groups of 32. */
const PACKED = safetensors({
  "model.layers.0.mlp.up_proj.qweight": ["I32", [8, 64], 2048],
  "model.layers.0.mlp.up_proj.qzeros": ["I32", [2, 8], 64],
  "model.layers.0.mlp.up_proj.scales": ["F16", [2, 64], 256],
  "model.layers.0.mlp.up_proj.g_idx": ["I32", [64], 256],
  "model.norm.weight": ["F16", [64], 128],
}, {
  "model.layers.0.mlp.up_proj.g_idx": Int32Array.from({ length: 64 }, (_, input) => input >> 5),
});

/** Doors of a model's folder, of which `tiny` is one; `seeds`: what `python_seeds.py` wrote. */
export function pythonDoors(tiny: string, seeds: string): Door[] {
  const bytes = (name: string) => readFileSync(join(tiny, name));
  const text = (name: string) => readFileSync(join(tiny, name), "utf8");
  const config = text("config.json");
  const own = (name: string, files: Door["files"], more: Partial<Door> = {}): Door => ({
    ...{ name, side: "python", files },
    ...more,
  });
  const inModel = (name: string, files: Door["files"], more: Partial<Door> = {}) =>
    own(name, files, { folder: true, linked: tiny, ...more });
  const gguf = {
    files: { "model.gguf": readFileSync(join(seeds, "made", "model.gguf")) },
    head: Number(readFileSync(join(seeds, "head_bytes"), "utf8")),
  };
  return [
    own("gguf", gguf.files, gguf),
    own("gguf_given", gguf.files, gguf),
    own("parquet", { "rows.parquet": readFileSync(join(seeds, "rows.parquet")) }),
    inModel("config", {
      "config.json": config,
      "generation_config.json": text("generation_config.json"),
    }, {
      hit: ["config.json", "config.json", "generation_config.json"],
    }),
    inModel("safetensors", { "model.safetensors": bytes("model.safetensors") }),
    inModel("tokenizer", { "tokenizer.json": text("tokenizer.json") }),
    inModel("tokenizer_config", { "tokenizer_config.json": text("tokenizer_config.json") }),
    inModel("chat_template", { "chat_template.jinja": TEMPLATE }),
    own("given", {
      "config.json": JSON.stringify({ ...JSON.parse(config), quantization_config: GPTQ }, null, 1),
      "model.safetensors": PACKED,
    }, { folder: true, hit: ["config.json", "model.safetensors"] }),
    own("task", {
      "task.yaml": TASK,
      "rows.jsonl": '{"question": "1+1", "choices": ["1", "2"], "label": 1}\n',
    }),
    own("rows", { "rows.jsonl": ROWS }),
    own("rows_gz", { "rows.jsonl.gz": gzipSync(ROWS) }),
    own("rows_list", { "rows.json": `[${ROWS.trim().replace("\n", ",\n")}]` }),
    own("texts", { "texts.jsonl": '{"text": "the red fox"}\n{"text": "lives in the den"}\n' }),
    own("scores", { "scores.json": JSON.stringify(SCORES, null, 1) }),
  ];
}
