import { z } from "zod";
import { Fidelity } from "./fidelity.ts";

/** Numerics under which a runtime executed: part of every speed figure. */
export const Numerics = z.strictObject({
  inference_precision: z.string().describe("such as f32, bf16"),
  kv_precision: z.string().describe("such as f32, f16, u8"),
  activation_group: z.int().describe("group of dynamic activation quantization; 0 = none"),
  threads: z.int().optional().describe("absent: in old records, and where nothing was timed"),
});
export type Numerics = z.infer<typeof Numerics>;

/** A number as it was measured: NaN and the infinities are results too. */
const MeasuredNumber = z.number().or(z.nan()).or(z.literal([Infinity, -Infinity]));

/** How far repeats lie apart, in the unit of their figure. */
export const Spread = z.strictObject({
  minimum: z.number(),
  lower_quartile: z.number(),
  upper_quartile: z.number(),
  maximum: z.number(),
});
export type Spread = z.infer<typeof Spread>;

/** One figure with everything that is needed to defend it. */
export const Measurement = z.strictObject({
  metric: z.string().describe("such as accuracy, perplexity, latency_ms, size_bytes"),
  value: MeasuredNumber,
  unit: z.string().describe("such as 1, ms/token, bytes, J/1k tokens"),
  direction: z.enum(["maximize", "minimize"]),
  n: z.int().describe("samples or repeats behind the value"),
  standard_error: MeasuredNumber.nullable(),
  fidelity: Fidelity,
  provenance: z.enum(["measured", "estimated", "emulated"]),
  task: z.string().nullable(),
  task_version: z.string().nullable(),
  slice: z.string().nullable().describe("part of a task, such as an MMLU subject"),
  runtime: z.string().nullable(),
  numerics: Numerics.nullable(),
  device: z.string().nullable(),
  method: z.string().nullable().describe("how it was read, such as rapl, estimate, VmHWM"),
  spread: Spread.optional().describe("of repeats; absent where there are none"),
  chance: z.number().nullable().optional().describe(
    "of an accuracy: the score of guessing; null: not known; absent: no accuracy, or an old record",
  ),
  stratum_rows: z.int().optional().describe(
    "of a slice: rows of the part in the benchmark's data, by which a mean over parts weighs",
  ),
  form: z.string().optional().describe(
    "hash of the stored form that was timed: architecture, tensors, types and shapes; absent in old " +
      "records and where nothing was timed",
  ),
  busy_cores: z.number().optional().describe(
    "that other work took while it was timed; absent: too few to matter, or an old record",
  ),
});
export type Measurement = z.infer<typeof Measurement>;

/** One sample's outcome: what paired statistics and SQL need. */
export const SampleResult = z.strictObject({
  task: z.string(),
  sample_id: z.string(),
  sample_hash: z.string().describe("hash of the document's content; joins baseline and trial"),
  prompt_hash: z.string(),
  score: MeasuredNumber.describe("1 right, 0 wrong, or the metric's per-sample value"),
  answer: z.string().nullable().describe("what it wrote or chose, its first answer_chars"),
  gold: z.string().nullable(),
  log_likelihood: MeasuredNumber.nullable().describe(
    "nats, of the right answer; on the rung likelihood of the original's own",
  ),
  seconds: MeasuredNumber.nullable().optional().describe(
    "its share of the batches that it was computed in, of all programs drawn for a problem but " +
      "not of their tests; null or absent: not known",
  ),
  // Absent in samples of earlier versions, whose `answer` is the parsed one.
  parsed_answer: z.string().nullable().optional().describe(
    "what the task's rule read from the answer; null: nothing",
  ),
  answer_length: z.int().nullable().optional().describe("characters of the whole answer"),
  chosen: z.int().nullable().optional().describe("number of the choice taken, from 0"),
  choice_log_likelihoods: z.array(MeasuredNumber).nullable().optional().describe(
    "nats, of every choice in order",
  ),
  cut_tokens: z.int().nullable().optional().describe(
    "tokens lost from the left of an input longer than the model reads; 0: none",
  ),
  kl: z.number().nullable().optional().describe(
    "of a window of text: nats per token, of the original's distributions to this model's; null or " +
      "absent: not compared",
  ),
  // Absent in samples of earlier versions, whose means count every sample alike.
  chance: z.number().nullable().optional().describe("score of guessing; null: not known"),
  stratum: z.string().nullable().optional().describe(
    "part of the benchmark that it belongs to, such as an MMLU subject; null: it has none",
  ),
  stratum_rows: z.int().nullable().optional().describe(
    "rows of that part in the benchmark's data, where means weigh by them; null: all count alike",
  ),
  greedy: z.array(z.boolean()).nullable().optional().describe(
    "whether it would have written each given text by itself; null or absent: not kept",
  ),
  tokens: z.int().nullable().optional().describe("of a window of text, those that were predicted"),
  context_tokens: z.int().nullable().optional().describe(
    "of what was read before its cache was cut; null or absent: none was, by what was read",
  ),
  kept_tokens: z.number().nullable().optional().describe(
    "of these, those that a head was left with, mean over the layers",
  ),
  kv_bytes: z.int().nullable().optional().describe("of the tensors that hold them"),
  kept_places: z.array(z.int()).nullable().optional().describe(
    "percent of each sixteenth of the context that a head was left with, one layer after the other; " +
      "null or absent: all stayed, or not of the first samples",
  ),
});
export type SampleResult = z.infer<typeof SampleResult>;
