/** What the benchmark keeps of each cell, and what follows: pairs, fronts. */
import { z } from "zod";
import { meanDifference } from "../recovery/recovery_rows.ts";

const seconds = z.number().nonnegative();

/** What measure_quantized.py writes of a model in a form. */
export const Quantized = z.object({
  encode_seconds: seconds,
  encode_processor_seconds: seconds,
  /** Load average of the machine before. */
  load: z.number(),
  peak_memory_bytes: z.number(),
  /** Of the linear layers, by the bytes of their tensors in the files, factors beside them included. */
  weight_bits: z.number(),
  size_bytes: z.number(),
  /** From the original on each window, nats per token. */
  kl: z.array(z.number()).min(1),
  perplexity: z.number(),
  original_perplexity: z.number(),
  /** A digit a passage: whether greedy decoding gives its last word. */
  words: z.string().regex(/^[01]+$/).optional(),
  /** Of a mix: finding it among the kept layers. */
  mix_seconds: seconds.optional(),
  mix_processor_seconds: seconds.optional(),
  candidates: z.array(z.record(z.string(), z.unknown())).optional(),
  actions: z.array(z.record(z.string(), z.unknown())).optional(),
});

/** What it writes of kept layers. */
export const Kept = z.object({
  load: z.number(),
  load_model_seconds: seconds,
  load_model_processor_seconds: seconds,
  make_seconds: seconds,
  make_processor_seconds: seconds,
  score_seconds: seconds,
  score_processor_seconds: seconds,
  /** One budget, layers of one input together; "free": each for itself. */
  solve_seconds: seconds,
  curve_seconds: seconds,
  free_solve_seconds: seconds,
  free_curve_seconds: seconds,
  threads: z.number().default(1),
  formats: z.number(),
  layers: z.number(),
  kept_bytes: z.number(),
  peak_memory_bytes: z.number(),
});

const about = { name: z.string(), cores: z.number() };
export const Row = z.discriminatedUnion("set", [
  Quantized.extend({ ...about, set: z.enum(["methods", "mixes", "bare"]) }),
  Kept.extend({ ...about, set: z.literal("kept") }),
]);
export type Row = z.infer<typeof Row>;
export type QuantizedRow = Exclude<Row, { set: "kept" }>;
export type KeptRow = Extract<Row, { set: "kept" }>;

export const isQuantized = (row: Row): row is QuantizedRow => row.set !== "kept";

/** Change of the share of last words that are right, paired by passage, with its 95 % interval; of as
 * many passages as the row has, which the original may have more of. */
export function changedWords(
  row: Pick<QuantizedRow, "words">,
  original: Pick<QuantizedRow, "words"> | undefined,
): { share: number; mean: number; half: number } | null {
  if (row.words === undefined || original?.words === undefined) return null;
  const digits = (text: string) => [...text].map(Number);
  const own = digits(row.words);
  const share = own.reduce((sum, one) => sum + one, 0) / own.length;
  return { share, ...meanDifference(own, digits(original.words.slice(0, own.length))) };
}

/** How far one row's KL is from another's on the same windows. */
export function apart(first: QuantizedRow, second: QuantizedRow): { mean: number; half: number } {
  return meanDifference(first.kl, second.kl);
}
