import { z } from "zod";

/** Milliseconds, or null where there was no such moment. */
const Milliseconds = z.number().nullable();

/** One request of a load. */
export const LoadRequest = z.strictObject({
  number: z.int().describe("from 0, in the order in which they were due"),
  phase: z.enum(["warming", "measured"]),
  sent_seconds: z.number().describe("since the step's begin"),
  late_ms: z.number().describe("by which the client sent it after it was due"),
  first_token_ms: Milliseconds,
  between_tokens_ms: Milliseconds.describe("mean from the first token to the last"),
  latency_ms: Milliseconds.describe("to the end of the answer"),
  prompt_tokens: z.int().nullable(),
  output_tokens: z.int().nullable(),
  error: z.string().nullable(),
});
export type LoadRequest = z.infer<typeof LoadRequest>;

/** Points of a distribution, in milliseconds; null: there were no values. */
export const LoadPercentiles = z.strictObject({
  mean: Milliseconds,
  p50: Milliseconds,
  p90: Milliseconds,
  p95: Milliseconds,
  p99: Milliseconds,
});
export type LoadPercentiles = z.infer<typeof LoadPercentiles>;

/** What a step comes to, over its measured requests. */
export const LoadSummary = z.strictObject({
  requests: z.int(),
  failed: z.int(),
  seconds: z.number().describe("from the first that was sent to the last answer"),
  requests_per_second: z.number(),
  output_tokens_per_second: z.number(),
  first_token: LoadPercentiles,
  between_tokens: LoadPercentiles,
  latency: LoadPercentiles,
  goodput: z.number().nullable().describe(
    "answers a second that kept to the limits; null: none was given",
  ),
  late_p95_ms: z.number().describe("of the client's own delay"),
});
export type LoadSummary = z.infer<typeof LoadSummary>;

/** A served model under one load. */
export const LoadMeasured = z.strictObject({
  type: z.literal("load_measured"),
  at: z.string(),
  study_id: z.string().describe("of the load: it has no trials"),
  server: z.string().describe("base URL"),
  model: z.string(),
  against: z.boolean().describe("whether it is the one that the first is held against"),
  step: z.int().describe("from 0"),
  load: z.enum(["rate", "concurrency"]),
  level: z.number().describe("requests a second, or at a time"),
  asked_prompt_tokens: z.int(),
  asked_output_tokens: z.int(),
  first_token_limit_ms: Milliseconds,
  between_tokens_limit_ms: Milliseconds,
  client_requests_per_second: z.number().describe(
    "that the client makes of a server that does nothing",
  ),
  client_tokens_per_second: z.number(),
  summary: LoadSummary,
  requests: z.array(LoadRequest),
});
export type LoadMeasured = z.infer<typeof LoadMeasured>;
