import { z } from "zod";

const Interval = z.number().nullable().describe("null: one pass tells no interval");

/** One setting of a runtime's cache at one length of the prompt, in turn with the full cache. */
export const TimedCache = z.strictObject({
  setting: z.string(),
  context_tokens: z.int().describe("of the prompt"),
  new_tokens: z.int(),
  passes: z.int(),
  prefill_ms: z.number().describe("until the first new token, the median of the passes"),
  decode_ms: z.number().describe("of each further token, the median of the passes' means"),
  prompt_bytes: z.int().describe("of the cache at its largest: once the prompt is read"),
  kept_bytes: z.int().describe("of the cache after the last token"),
  full_prefill_ms: z.number().describe("of the full cache in the same minutes"),
  full_decode_ms: z.number().describe("of the full cache in the same minutes"),
  full_kept_bytes: z.int().describe("of the full cache after the last token"),
  prefill_ratio: z.number().describe("to the full cache's, pair by pair"),
  prefill_ratio_low: Interval,
  prefill_ratio_high: Interval,
  decode_ratio: z.number().describe("to the full cache's, pair by pair"),
  decode_ratio_low: Interval,
  decode_ratio_high: Interval,
});
export type TimedCache = z.infer<typeof TimedCache>;
