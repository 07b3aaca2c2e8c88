import { z } from "zod";
import { KnobValue } from "../action.ts";
import { Numerics } from "../measurement.ts";

/** Generated in one cache before the other's turn: what drifts on the machine meets both. */
export const TURN_TOKENS = 8;

const Bound = z.number().nullable().describe("of its 95 % interval; null: one pair tells none");

/** One setting of a runtime's cache at one length of the prompt, in turn with the full cache. */
export const TimedCache = z.strictObject({
  setting: z.string(),
  context_tokens: z.int().describe("of the prompt"),
  new_tokens: z.int().describe("that were generated after it"),
  passes: z.int().describe("pairs of prompts"),
  prefill_ms: z.number().describe("until the first new token, the median of the passes"),
  decode_ms: z.number().describe("of each further token, the median of turns of a few tokens"),
  prompt_bytes: z.int().describe("of the cache at its largest, once the prompt is read"),
  kept_bytes: z.int().describe("of the cache after the last token"),
  full_prefill_ms: z.number().describe("of the full cache in the same minutes"),
  full_decode_ms: z.number().describe("of the full cache in the same minutes"),
  full_kept_bytes: z.int().describe("of the full cache after the last token"),
  prefill_ratio: z.number().describe("to the full cache's, pair by pair"),
  prefill_ratio_low: Bound,
  prefill_ratio_high: Bound,
  decode_ratio: z.number().describe("to the full cache's, turn by turn"),
  decode_ratio_low: Bound,
  decode_ratio_high: Bound,
});
export type TimedCache = z.infer<typeof TimedCache>;

/** What one setting of a cache scores on a benchmark by what it generates. */
export const ScoredCache = z.strictObject({
  setting: z.string(),
  task: z.string(),
  metric: z.string(),
  value: z.number(),
  standard_error: z.number().nullable(),
  n: z.int().describe("samples"),
  difference: z.number().nullable().describe(
    "to the full cache's on the same samples; null: it is the full cache",
  ),
  difference_standard_error: z.number().nullable().describe("null: it is not known"),
});
export type ScoredCache = z.infer<typeof ScoredCache>;

/** A setting with a value for every knob, as a worker is asked for it. */
export const AskedCache = z.strictObject({
  name: z.string(),
  params: z.record(z.string(), KnobValue),
});

/** What a runtime says of its cache's settings. */
export const TimedCaches = z.strictObject({
  caches: z.array(TimedCache),
  refused: z.array(z.strictObject({ setting: z.string(), reason: z.string() })).describe(
    "settings that could not be measured here: the others were",
  ),
  numerics: z.record(z.string(), Numerics).describe("by setting"),
  version: z.string().describe("of the runtime's library"),
  bytes_method: z.string().describe("how bytes of a cache are read"),
  threads: z.int(),
  load_average: z.number(),
});

/** Record: settings of a runtime's cache that were measured on an artifact. */
export const CachesTimed = z.strictObject({
  type: z.literal("caches_timed"),
  at: z.string(),
  study_id: z.string(),
  artifact_id: z.string(),
  runtime: z.string(),
  seed: z.int().describe("drew the prompts"),
  settings: z.array(AskedCache).describe("the first keeps everything"),
  ...TimedCaches.shape,
  scores: z.array(ScoredCache).optional().describe("absent: it was not asked for"),
  launches: z.record(z.string(), z.array(z.string())).optional().describe(
    "by setting: what the runtime's own program is told; absent: no words of one are known",
  ),
});
