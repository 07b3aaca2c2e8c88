import { z } from "zod";
import { LayerCaches } from "./caches/layer_caches.ts";
import { CarbonIntensity, CpuPower } from "./energy.ts";
import { Numerics } from "./measurement.ts";

/** Weights that already lie on a uniform grid: rounding to that grid would win by construction. */
export const WeightGrid = z.strictObject({
  bits: z.int(),
  group_size: z.int(),
  symmetric: z.boolean(),
  fraction: z.number().describe("share of linear weights whose groups lie on it, 0 to 1"),
  relative_error: z.number().describe("largest relative Frobenius error of the rounding to it"),
});
export type WeightGrid = z.infer<typeof WeightGrid>;

/** A linear layer's shape and how often it occurs. */
export const LinearShape = z.strictObject({
  out_features: z.int(),
  in_features: z.int(),
  count: z.int(),
  bias: z.boolean().optional().describe("true: each of them adds a bias; absent: none, or unknown"),
});
export type LinearShape = z.infer<typeof LinearShape>;

/** A linear matrix as every one of some blocks has it. */
export const BlockMatrix = z.strictObject({
  name: z.string().describe(
    "inside its block, such as mlp.up_proj; an expert's without its number",
  ),
  out_features: z.int(),
  in_features: z.int(),
  blocks: z.array(z.tuple([z.int(), z.int()])).describe(
    "first and last of each row of blocks that have it, numbered from 0; -1: it lies outside of them",
  ),
  experts: z.int().optional().describe("how many of them a block has; absent: one"),
  stacked: z.boolean().optional().describe(
    "true: the file holds a block's experts in one tensor, and they are none of linear_parameters",
  ),
});
export type BlockMatrix = z.infer<typeof BlockMatrix>;

/** Tokens that each head of a layer keeps, over the layers; one number in old records. */
const KeptTokens = z.union([
  z.strictObject({ mean: z.number(), most: z.int() }),
  z.int().transform((tokens) => ({ mean: tokens, most: tokens })),
]);

/**
 * Where a policy of the cache that goes by what was read makes its choice, and where an evaluation
 * lets it: after the context of each sample. What follows alone is scored.
 */
export const EvictAfter = z.literal("context");
export type EvictAfter = z.infer<typeof EvictAfter>;

/** What was read from a model's own files; no judgement. Bytes, counts and names. */
export const ModelFacts = z.strictObject({
  model_name: z.string(),
  source: z.enum(["checkpoint", "gguf", "hub", "demo", "tiny", "endpoint"]).describe(
    "endpoint: behind a server that says nothing of it, so that counts and bytes are 0",
  ),
  path: z.string().describe(
    'directory of the imported baseline, or of the checkpoint; "." where it is written down',
  ),
  revision: z.string().nullable(),
  architecture: z.string().describe("such as LlamaForCausalLM"),
  model_type: z.string(),
  dtype: z.string().describe("dtype of the original weights"),
  parameters: z.int(),
  embedding_parameters: z.int(),
  linear_parameters: z.int(),
  original_bytes: z.int().describe("bytes of the weights as the user gave them"),
  fp16_bytes: z.int().describe("2 bytes per parameter: the base of compression ratios"),
  tied_embeddings: z.boolean(),
  layers: z.int(),
  hidden_size: z.int(),
  intermediate_size: z.int(),
  heads: z.int(),
  kv_heads: z.int(),
  // Absent in old records: hidden_size / heads, as in most models.
  head_dim: z.int().optional().describe("width of a head; heads × head_dim may be any width"),
  vocabulary: z.int(),
  context_length: z.int(),
  linear_shapes: z.array(LinearShape),
  // Absent in old records.
  block_matrices: z.array(BlockMatrix).optional().describe(
    "the linear matrices by their names in a block, in its order",
  ),
  group_sizes: z.array(z.int()).describe("of 16 to 256, those that divide every linear row"),
  grid: WeightGrid.nullable(),
  // Absent in old records.
  expert_parameters: z.int().optional().describe(
    "of linear_parameters, those of a mixture's experts",
  ),
  block_parameters: z.int().nullable().optional().describe(
    "of the decoder's blocks, all together; null: they are no row of equals",
  ),
  unpackable: z.string().nullable().optional().describe(
    "why some weight matrices cannot be packed, with the name of one; null: all can",
  ),
  special_linear: z.string().nullable().optional().describe(
    "a linear layer that is no plain one: held transposed, or of a class that reads its weight by itself; null: all are plain",
  ),
  whole_cache: z.string().nullable().optional().describe(
    "why no layer's keys and values can be kept in part; null: some can",
  ),
  no_gguf: z.string().nullable().optional().describe(
    "why its config.json allows no GGUF file, though llama.cpp knows its architecture; null: nothing is against it",
  ),
  chat_template: z.boolean(),
  custom_code: z.boolean(),
  notes: z.array(z.string()).optional().describe(
    "what the model's files say and is left out, or say twice; absent: in old records",
  ),
  cache: z.strictObject({
    kept_tokens: KeptTokens.describe("of whatever was read, at most"),
    evict_after: EvictAfter.optional().describe(
      "where the choice falls, as it depends on what was read; absent: places alone decide",
    ),
  }).optional().describe("what an action keeps of keys and values; absent: those of every token"),
  layer_caches: LayerCaches.optional().describe(
    "what its layers keep of what was read; absent: no context was asked for",
  ),
  weight_bytes: z.strictObject({
    linear: z.number(),
    embedding: z.number(),
    rest: z.number(),
  }).optional().describe(
    "of each part as it is stored, by the formulas of the actions so far; absent: 2 bytes per parameter",
  ),
});
export type ModelFacts = z.infer<typeof ModelFacts>;

/** Of an artifact's facts those that its own files tell; the others are of what the user gave. */
export const OwnFacts = ModelFacts.omit({
  model_name: true,
  source: true,
  path: true,
  revision: true,
  dtype: true,
  original_bytes: true,
  grid: true,
  no_gguf: true,
  chat_template: true,
  notes: true,
  layer_caches: true,
});

/** A checkpoint of the same model that was made elsewhere, as its files' headers tell it. */
export const GivenFacts = z.strictObject({
  content: z.string().regex(/^[0-9a-f]{16}$/).describe("hash of its files: what it is known by"),
  file: z.string().describe("its file's name, its folder's, or its name on the hub"),
  kind: z.string().describe("who wrote it so: GGUF, gptq, awq, floats and others"),
  file_bytes: z.int().describe("of its weights as they were given"),
  weight_bytes: z.strictObject({
    linear: z.number(),
    embedding: z.number(),
    rest: z.number(),
  }).describe("of its parts as pare stores them, by the forms' formulas"),
  forms: z.strictObject({
    linear: z.array(z.looseObject({ form: z.string() }).nullable()),
    embedding: z.array(z.looseObject({ form: z.string() }).nullable()),
  }).describe("how its parts are stored; null: as floats"),
});
export type GivenFacts = z.infer<typeof GivenFacts>;

/** What the machine is and has free. Gigabytes are 1e9 bytes. */
export const DeviceFacts = z.strictObject({
  device: z.enum(["cpu", "cuda"]),
  device_name: z.string(),
  cores: z.int(),
  memory_gb: z.number(),
  free_memory_gb: z.number(),
  vram_gb: z.number().nullable(),
  free_vram_gb: z.number().nullable(),
  gpus: z.int().optional().describe("that its processes may use; absent: none, or an old record"),
  compute_capability: z.string().nullable(),
  free_disk_gb: z.number(),
  bf16: z.boolean(),
  instructions: z.array(z.string()).optional().describe(
    "of the processor, as its kernel names them, those that multiply vectors, integers or 16-bit floats; " +
      "absent: in old records",
  ),
  python_version: z.string().optional().describe("of its workers; absent: in old records"),
  torch_version: z.string(),
  torch_build: z.enum(["cpu", "cuda", "rocm"]),
  energy_reader: z.enum(["nvml-counter", "nvml-power", "rapl", "estimate"]),
  platform: z.string(),
  sandbox_problem: z.string().nullable().optional().describe(
    "why code that a model writes cannot be run in a sandbox here; null: it can",
  ),
  // Absent in old records.
  cpu_power: CpuPower.optional(),
  carbon_intensity: CarbonIntensity.optional(),
});
export type DeviceFacts = z.infer<typeof DeviceFacts>;

/** What is known of the dataset that the user named. */
export const DatasetFacts = z.strictObject({
  dataset: z.string().describe("as the user wrote it"),
  kind: z.enum(["named", "file"]),
  path: z.string().nullable(),
  format: z.enum(["prompt_answer", "text"]).nullable().describe("of a user's file"),
  rows: z.int().nullable(),
  sha256: z.string().nullable(),
});
export type DatasetFacts = z.infer<typeof DatasetFacts>;

/** How fast a runtime runs the original in one precision, as a study's beginning has it. */
export const RuntimeSpeed = z.strictObject({
  runtime: z.string(),
  precision: z.string().describe("of weights and computation, one that the runtime offers"),
  numerics: Numerics.nullable().describe("as it ran; null: it could not be timed"),
  latency_ms: z.number().nullable().describe(
    "milliseconds per token, a median of the fastest session; null: see reason",
  ),
  standard_error: z.number().nullable(),
  passes: z.int(),
  sessions: z.int().optional().describe(
    "that were timed, in turn with those of other runtimes; absent: one",
  ),
  bytes_read: z.int().nullable().describe("that a generated token reads, as the runtime holds it"),
  busy_cores: z.number().optional().describe(
    "that other work took meanwhile; absent: too few to matter",
  ),
  reason: z.string().nullable().describe("why it could not be timed"),
  at: z.string().describe("when it was timed, which may be before the study"),
});
export type RuntimeSpeed = z.infer<typeof RuntimeSpeed>;

export const Facts = z.strictObject({
  model: ModelFacts,
  student: ModelFacts.optional().describe(
    "the smaller model that the user named, which may take the untouched model's place",
  ),
  device: DeviceFacts,
  tools: z.array(z.string()).optional().describe(
    "environments of programs that methods run beside and that are made here; absent: in old records",
  ),
  given: z.array(GivenFacts).optional().describe(
    "checkpoints made elsewhere that are trials of the study; absent: none are",
  ),
  runtimes: z.array(RuntimeSpeed).optional().describe(
    "of the original, in each runtime that is made here; absent: in old records, and where nothing " +
      "times",
  ),
  dataset: DatasetFacts,
});
export type Facts = z.infer<typeof Facts>;
