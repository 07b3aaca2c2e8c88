import { z } from "zod";
import type { TextConfig } from "./config.ts";
import type { Weight } from "./shape.ts";

// Keys of config.json's quantization_config, as the libraries that write checkpoints name them.

const Scheme = z.looseObject({
  num_bits: z.int().positive(),
  type: z.string().default("int"),
  group_size: z.int().nullish(),
  block_structure: z.unknown().nullish(),
  strategy: z.string().nullish(),
  symmetric: z.boolean().nullish(),
});

const Group = z.looseObject({
  weights: Scheme.nullish(),
  targets: z.array(z.string()).nullish(),
  format: z.string().nullish(),
});

const Quantized = z.looseObject({
  quant_method: z.string().nullish(),
  bits: z.int().nullish(),
  w_bit: z.int().nullish(),
  group_size: z.int().nullish(),
  q_group_size: z.int().nullish(),
  sym: z.boolean().nullish(),
  zero_point: z.boolean().nullish(),
  desc_act: z.boolean().nullish(),
  lm_head: z.boolean().nullish(),
  weight_block_size: z.array(z.int()).nullish(),
  modules_to_not_convert: z.array(z.string()).nullish(),
  ignored_layers: z.array(z.string()).nullish(),
  ignore: z.array(z.string()).nullish(),
  exclude_modules: z.array(z.string()).nullish(),
  llm_int8_skip_modules: z.array(z.string()).nullish(),
  load_in_4bit: z.boolean().nullish(),
  bnb_4bit_use_double_quant: z.boolean().nullish(),
  format: z.string().nullish(),
  quant_algo: z.string().nullish(),
  quantization: z.looseObject({
    quant_algo: z.string().nullish(),
    kv_cache_quant_algo: z.string().nullish(),
    exclude_modules: z.array(z.string()).nullish(),
  }).nullish(),
  config_groups: z.record(z.string(), Group).nullish(),
  kv_cache_scheme: z.record(z.string(), z.unknown()).nullish(),
});

/** How a matrix lies on disk and in memory. */
export interface StoredForm {
  /** As a person calls it, such as `fp8, blocks of 128 by 128`. */
  readonly name: string;
  /** What servers call the method; null: it is not quantized. */
  readonly method: string | null;
  /** Bytes of one matrix of so many outputs and inputs. */
  bytes(rows: number, columns: number): number;
  /** Values along the inputs that share a scale: a cut must leave whole groups; null: any cut will do. */
  readonly per_group: number | null;
  /** Outputs that share a scale. */
  readonly per_rows: number | null;
}

/** Which form each weight of a model has. */
export interface StoredForms {
  readonly main: StoredForm;
  formOf(weight: Weight): StoredForm;
  /** The cache's type that the checkpoint asks for; null: it asks for none. */
  readonly cache: "fp8" | null;
}

function floats(value_bytes: number): StoredForm {
  return {
    name: value_bytes === 4 ? "32-bit floats" : "16-bit floats",
    method: null,
    bytes: (rows, columns) => rows * columns * value_bytes,
    ...{ per_group: null, per_rows: null },
  };
}

const groupsOf = (columns: number, per_group: number) =>
  per_group <= 0 ? 1 : Math.ceil(columns / per_group);

/** Integers in words of 32 bits with a scale of 16 bits a group, as GPTQ and AWQ write them. */
function packed(
  method: string,
  width: number,
  per_group: number,
  zeros: boolean,
  order: boolean,
): StoredForm {
  return {
    name: `${method} in ${width} bits, groups of ${per_group > 0 ? per_group : "a row"}`,
    method,
    bytes: (rows, columns) =>
      rows * columns * width / 8 +
      groupsOf(columns, per_group) * rows * (2 + (zeros ? width / 8 : 0)) +
      (order ? 4 * columns : 0),
    per_group: per_group > 0 ? per_group : null,
    per_rows: null,
  };
}

/** Eight-bit floats, with a scale for each block, row or matrix. */
function eightBits(method: string, block: readonly number[] | null, by_row: boolean): StoredForm {
  const [tall, wide] = [block?.[0] ?? 0, block?.[1] ?? 0];
  return {
    name: block === null
      ? `${method}, one scale a ${by_row ? "row" : "matrix"}`
      : `${method}, blocks of ${tall} by ${wide}`,
    method,
    bytes: (rows, columns) =>
      rows * columns +
      (block === null
        ? by_row ? 4 * rows : 8
        : 4 * Math.ceil(rows / tall) * Math.ceil(columns / wide)),
    per_group: block === null ? null : wide,
    per_rows: block === null ? null : tall,
  };
}

/** Four-bit floats with a scale of 8 bits for every 16 or 32 inputs. */
function fourBitFloats(name: string, method: string, per_group: number): StoredForm {
  return {
    name,
    method,
    bytes: (rows, columns) => rows * columns / 2 + rows * columns / per_group + 8,
    ...{ per_group, per_rows: null },
  };
}

function bitsAndBytes(four: boolean, doubled: boolean): StoredForm {
  return {
    name: four ? "bitsandbytes in 4 bits" : "bitsandbytes in 8 bits",
    method: "bitsandbytes",
    bytes: (rows, columns) =>
      four
        ? rows * columns / 2 + rows * columns / 64 * (doubled ? 1 : 4)
        : rows * columns + 4 * rows,
    ...{ per_group: null, per_rows: null },
  };
}

function ofScheme(scheme: z.infer<typeof Scheme>, format: string): StoredForm {
  const method = "compressed-tensors";
  const per_group = scheme.group_size ?? -1;
  if (/nvfp4/.test(format)) return fourBitFloats("nvfp4", method, 16);
  if (/mxfp4/.test(format)) return fourBitFloats("mxfp4", method, 32);
  if (scheme.num_bits === 8 && /float|naive|int-quantized/.test(`${format} ${scheme.type}`)) {
    const block = Array.isArray(scheme.block_structure) ? scheme.block_structure : null;
    return eightBits(method, block, scheme.strategy !== "tensor");
  }
  return packed(method, scheme.num_bits, per_group, scheme.symmetric === false, false);
}

const NVFP4 = /NVFP4/i;

function mainForm(read: z.infer<typeof Quantized>): StoredForm | null {
  const method = (read.quant_method ?? "").toLowerCase().replace("_", "-");
  const width = read.bits ?? read.w_bit ?? 4;
  const per_group = read.group_size ?? read.q_group_size ?? 128;
  const algorithm = read.quantization?.quant_algo ?? read.quant_algo ?? "";
  if (NVFP4.test(algorithm) || /nvfp4/i.test(method)) {
    return fourBitFloats("nvfp4", "modelopt_fp4", 16);
  }
  if (/FP8/i.test(algorithm)) return eightBits("modelopt", null, false);
  if (/^(compressed-tensors)$/.test(method)) {
    const group = Object.values(read.config_groups ?? {}).find(({ weights }) => weights != null);
    if (group?.weights == null) return null;
    return ofScheme(group.weights, group.format ?? read.format ?? "");
  }
  if (/^(gptq|gptq-marlin|auto-round)$/.test(method)) {
    return packed("gptq", width, per_group, true, method !== "auto-round");
  }
  if (/awq/.test(method)) return packed("awq", width, per_group, read.zero_point !== false, false);
  if (/mxfp4/.test(method)) return fourBitFloats("mxfp4", "mxfp4", 32);
  if (/fp8/.test(method)) return eightBits("fp8", read.weight_block_size ?? null, false);
  if (/bitsandbytes|bnb/.test(method)) {
    return bitsAndBytes(read.load_in_4bit === true, read.bnb_4bit_use_double_quant === true);
  }
  return null;
}

/** A pattern of names: `re:` a regular expression, `*` anything between. */
function patternOf(pattern: string): RegExp | null {
  try {
    if (pattern.startsWith("re:")) return new RegExp(pattern.slice(3));
  } catch {
    return null; // one of Python's that JavaScript has not: the weight counts as quantized
  }
  const bare = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*");
  return new RegExp(`(^|\\.)${bare}($|\\.)`);
}

/** Whether a name, or a run of its parts between dots, is one of these; lists have hundreds of them. */
function isNamed(name: string, names: ReadonlySet<string>): boolean {
  const parts = name.split(".");
  return parts.some((_, from) =>
    parts.some((_, to) => to >= from && names.has(parts.slice(from, to + 1).join(".")))
  );
}

/** Tells of a name whether it is one of those that a checkpoint leaves as they are. */
function leftAsItIs(listed: readonly string[]): (name: string) => boolean {
  const bare = listed.map((name) => name.replace(/^(model\.)?language_model\./, ""));
  const names = new Set(bare.filter((name) => !/^re:|\*/.test(name)));
  const patterns = bare.filter((name) => /^re:|\*/.test(name)).map(patternOf);
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const left = isNamed(name, names) || patterns.some((pattern) => pattern?.test(name) === true);
    known.set(name, left);
    return left;
  };
}

/** Parts that no library quantizes unless asked: they are looked up or small. */
const NEVER = new Set(["embedding", "norms", "router", "vision"]);

/** The form of each weight by a config's `quantization_config`; without one all are floats. */
export function storedForms(config: TextConfig, value_bytes: number): StoredForms {
  const plain = floats(value_bytes);
  const asked = config.quantization_config;
  const read = asked === null || asked === undefined ? null : Quantized.safeParse(asked);
  const main = read === null || !read.success ? null : mainForm(read.data);
  if (read === null || !read.success || main === null) {
    return { main: plain, formOf: () => plain, cache: null };
  }
  const { data } = read;
  const isLeft = leftAsItIs([
    ...data.modules_to_not_convert ?? [],
    ...data.ignored_layers ?? [],
    ...data.ignore ?? [],
    ...data.exclude_modules ?? [],
    ...data.quantization?.exclude_modules ?? [],
    ...data.llm_int8_skip_modules ?? [],
  ]);
  const only_experts = main.method === "mxfp4";
  const head = data.lm_head === true;
  const fp8_cache = data.kv_cache_scheme != null ||
    /FP8/i.test(data.quantization?.kv_cache_quant_algo ?? "");
  return {
    main,
    formOf: (weight) => {
      if (NEVER.has(weight.part) || (weight.part === "head" && !head)) return plain;
      if (only_experts && weight.part !== "experts") return plain;
      return isLeft(weight.name) ? plain : main;
    },
    cache: fp8_cache ? "fp8" : null,
  };
}
