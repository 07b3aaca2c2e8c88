import { z } from "zod";
import { KnobValue, ResolvedAction } from "./action.ts";
import { ModelFacts } from "./facts.ts";

export const FileChecksum = z.strictObject({
  path: z.string().describe("relative to the artifact's directory"),
  bytes: z.int(),
  sha256: z.string(),
});
export type FileChecksum = z.infer<typeof FileChecksum>;

/** A figure of one layer. */
export const LayerValue = z.strictObject({ layer: z.string(), value: z.number() });
export type LayerValue = z.infer<typeof LayerValue>;

/** How many figures per method may tell of one artifact: some for each layer of a large mixture. */
export const MAX_FIGURES = 50_000;

/** What a method tells of the artifact that it left, as a number: the core knows none of the names. */
export const ArtifactFigure = z.strictObject({
  metric: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/).describe("the method's own name for it"),
  layer: z.string().min(1).max(256).nullable().describe(
    "module's name, as in the checkpoint; null: of the whole model",
  ),
  value: z.number(),
  unit: z.string().min(1).max(64).describe("1 where it has none"),
});
export type ArtifactFigure = z.infer<typeof ArtifactFigure>;

/** What was found of one part of a written model beside its source's. */
export const VerifiedPart = z.strictObject({
  part: z.string().describe("linear, embedding (with the output head), norm, bias or other"),
  layers: z.int().describe("tensors compared: finite, and of the source's shape"),
  minimum_cosine: z.number().nullable().describe("null: none was compared"),
  worst_layer: z.string().nullable(),
  reshaped: z.int().describe("tensors whose shape is not the source's"),
  missing: z.int().describe("tensors of the source alone"),
  added: z.int().describe("tensors of the artifact alone"),
  differs: z.string().nullable().describe("the first that could not be compared, in words"),
});
export type VerifiedPart = z.infer<typeof VerifiedPart>;

/** What the lines give that a report prints, beside what was evaluated: facts. */
export const PlainLoad = z.strictObject({
  loaded_by: z.string().describe("the libraries with their versions"),
  dtype: z.string().nullable().describe("that it computes in; null: it did not load"),
  problem: z.string().nullable().describe("why its logits are none; null: they are numbers"),
  cosine: z.number().nullable().describe("of its logits with those of the evaluated model"),
  kl: z.number().nullable().describe("of the evaluated model's distributions and its, nats/token"),
  tokens: z.int().describe("that both were given"),
});
export type PlainLoad = z.infer<typeof PlainLoad>;

/** What was found when the written file was read back: facts, which the gate judges. */
export const Verification = z.strictObject({
  layers: z.int().describe("tensors compared"),
  minimum_cosine: z.number().nullable().describe("null: none could be compared"),
  mean_cosine: z.number().nullable(),
  worst_layer: z.string().nullable(),
  generated_text: z.string(),
  seconds: z.number(),
  // Absent in old records, whose stage failed where one of these was not as it should be.
  parts: z.array(VerifiedPart).optional(),
  not_finite: z.string().nullable().optional().describe(
    "a tensor, or the logits, with values that are not; null: all are finite",
  ),
  not_generated: z.string().nullable().optional().describe("why there is no text; null: there is"),
  plain_load: PlainLoad.nullable().optional().describe("null: not tried; absent: old"),
});
export type Verification = z.infer<typeof Verification>;

/** Tensors that no action has touched, of one kind. */
export const FloatPart = z.strictObject({
  part: z.string().describe(
    "embedding, embedding by layer, head, linear, expert, router, position, norm, bias, other",
  ),
  tensors: z.int(),
  bytes: z.int().describe("as the format's formula predicts"),
});
export type FloatPart = z.infer<typeof FloatPart>;

/** What an action does to a part of the model (`Change` of the contract). */
export const ArtifactChange = z.strictObject({
  part: z.string().describe("linear, embedding, norm, block, adapter, cache or another"),
  effect: z.string().describe("trains, prunes, resizes, rounds, encodes or caches"),
  form: z.looseObject({ form: z.string() }).nullable().describe(
    "how the part is stored; null: floats",
  ),
  least_cosine: z.number().nullable().describe(
    "that sound weights of the part have with their source's; null: they cannot be compared",
  ),
  no_faster: z.string().optional().describe(
    "why the study's runtime is no faster by it, as a sentence; absent: it may be, or old",
  ),
});
export type ArtifactChange = z.infer<typeof ArtifactChange>;

/** What kind of text a method works on: it reads activations from it, or learns it. */
export const DataKind = z.enum(["calibration", "training"]);
export type DataKind = z.infer<typeof DataKind>;

/** The windows of text that made an artifact. */
export const UsedData = z.strictObject({
  kind: DataKind,
  source: z.string().describe("whose text: a file, or shipped"),
  windows: z.int(),
  tokens: z.int().describe("of each window"),
  ids: z.array(z.string()).describe("place in the joined text and hash of each window"),
  sha256: z.string().describe("over kind, tokens and ids"),
});
export type UsedData = z.infer<typeof UsedData>;

/**
 * What an artifact holds that is a setting: how a model runs, in the place of weights. It names the
 * weights that it belongs to by their artifact's id, never by a path.
 */
export const Setting = z.strictObject({
  format: z.literal(1),
  kind: z.string().describe("agent whose method it is, such as kv_cache"),
  policy: z.string().describe("the method, such as streaming"),
  values: z.record(z.string(), KnobValue).describe("its knobs"),
  weights: z.string().regex(/^[0-9a-f]{16}$/, "an artifact's id has 16 hexadecimal digits"),
});
export type Setting = z.infer<typeof Setting>;

/** A model directory: the child of one parent by one action, or an imported baseline. */
export const Artifact = z.strictObject({
  artifact_id: z.string().describe("sha256 over the files' checksums, first 16 hex digits"),
  action_key: z.string().describe("sha256 over the inputs: parent, action, data, source, pins"),
  parent_id: z.string().nullable(),
  action: ResolvedAction.nullable(),
  location: z.string().describe(
    'directory that holds the files on this machine; "." where it is written down: the id says which',
  ),
  files: z.array(FileChecksum),
  size_bytes: z.int().describe(
    "bytes of the weight files on disk; of a setting, those of the weights it needs and its own",
  ),
  formula_bytes: z.int().nullable().describe("bytes that the format's formula predicts"),
  weight_bits: z.number().nullable().describe("mean bits per linear weight, scales included"),
  activation_bits: z.int().nullable().describe("declared activation quantization; null = none"),
  notes: z.array(z.string()).optional().describe("what whoever loads or judges it must know"),
  // Absent in old records; floats and loader also of an imported baseline.
  floats: z.array(FloatPart).optional().describe("what is left in floats, most bytes first"),
  weights_id: z.string().optional().describe("of a setting: the artifact that holds its weights"),
  loader: z.string().optional().describe(
    "whose loader takes it: a library of that name, or pare",
  ),
  model: ModelFacts.optional().describe(
    "its own facts; name, path, dtype, bytes and grid are those of the model that the user gave",
  ),
  verification: Verification.nullable(),
  changes: z.array(ArtifactChange).optional().describe(
    "what its action does, as its method says",
  ),
  layer_cosines: z.array(LayerValue).optional().describe(
    "of each layer's weights with its source's",
  ),
  figures: z.array(ArtifactFigure).max(MAX_FIGURES).optional().describe(
    "what its method tells of it; absent: old, or a baseline",
  ),
  data: UsedData.nullable().optional().describe("null: its method works without; absent: old"),
  created_at: z.string(),
});
export type Artifact = z.infer<typeof Artifact>;

/** Who says what a layer's format costs, the layer alone in it and everything else as it was. */
export const LayerScorer = z.enum(["kl", "fisher", "reconstruction", "auto_scheme"]).describe(
  "kl: how far the model's next-word distribution moves; fisher: its second-order estimate; " +
    "reconstruction: squared error of the layer's outputs over their square; auto_scheme: the " +
    "delta loss of AutoRound's AutoScheme",
);
export type LayerScorer = z.infer<typeof LayerScorer>;

/** A layer of an artifact in a format, by a scorer. */
export const LayerScore = z.strictObject({
  layer: z.string(),
  layer_index: z.int().describe("in the order of the model, from 0"),
  part: z.enum(["linear", "embedding", "head"]),
  format: z.string().describe("such as 4-bit-g64; int8 rounds the layer's inputs, too"),
  weight_bits: z.number().describe("bits per weight with scales and zero points"),
  size_bytes: z.int().describe("of the layer in this format"),
  scorer: z.string().describe(
    "a LayerScorer, or of Model-Optimizer: auto_quantize, auto_quantize_kl",
  ),
  value: z.number(),
  standard_error: z.number().nullable().describe("over tokens; null: the scorer has none"),
  unit: z.string(),
  n: z.int().nullable().describe("tokens; null: another program's file does not say"),
  shares_input: z.int().nullable().describe(
    "index of the first layer that is given the same input, as K is what Q is; null: not known",
  ),
});
export type LayerScore = z.infer<typeof LayerScore>;
