import { z } from "zod";

/** Servers that a plan has a command for. */
export const SERVERS = ["vllm", "sglang", "tensorrt_llm", "llama.cpp", "openvino"] as const;
export type Server = typeof SERVERS[number];

const Bytes = z.number().nonnegative();

/** A program with its words: no shell is between. */
export const PlannedCommand = z.strictObject({
  program: z.string(),
  args: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
});
export type PlannedCommand = z.infer<typeof PlannedCommand>;

const ServerPlan = z.strictObject({
  command: PlannedCommand,
  container: PlannedCommand.describe("the same in the server's own image, by docker"),
  warnings: z.array(z.string()),
  runs: z.boolean().describe("false: these cards or this form it cannot serve; warnings say why"),
});
export type ServerPlan = z.infer<typeof ServerPlan>;

const PartLine = z.strictObject({
  part: z.string(),
  parameters: z.number(),
  bytes: Bytes,
  form: z.string().describe("how its matrices are stored"),
});

const Memory = z.strictObject({
  total: Bytes.describe("of one card, as its driver tells"),
  asked: Bytes.describe("the share of it that the server takes"),
  weights: Bytes.describe("of the fullest card"),
  activations: Bytes.describe("peak, by a rule of thumb: ± 30 %"),
  graphs: Bytes.describe("as vLLM since 0.21 estimates them before it gives out the cache"),
  outside: Bytes.describe("of libraries and communication"),
  cache: Bytes.describe("what is left for the cache where graphs are counted"),
  cache_without_graphs: Bytes.describe(
    "where VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0, as before",
  ),
});
export type Memory = z.infer<typeof Memory>;

const Speed = z.strictObject({
  decode_tokens_per_second: z.number().describe("of one sequence alone, its prompt read"),
  batch_tokens_per_second: z.number().describe("of all sequences together, their prompts read"),
  prefill_tokens_per_second: z.number().describe("checked against no run"),
  first_token_seconds: z.number().describe("of a prompt of the whole context"),
  bound_by: z.enum(["memory", "arithmetic"]),
  factor: z.number().describe("of the roofline that is reached: 1 is the roofline itself"),
  error: z.number().describe("share by which a real server may differ either way"),
  source: z.string(),
});
export type Speed = z.infer<typeof Speed>;

/** One way to spread the model over cards, and what it leaves for the cache. */
const Layout = z.strictObject({
  cards: z.int(),
  tensor_parallel: z.int(),
  pipeline_parallel: z.int(),
  fits: z.boolean(),
  why_not: z.string().nullable(),
  memory: Memory,
  kv_bytes_per_token: z.number().describe("on one card, of layers that keep every token"),
  longest_context: z.tuple([z.int(), z.int()]).describe(
    "tokens of each of `sequences`: with graphs counted, and without",
  ),
  sequences_at_context: z.tuple([z.int(), z.int()]),
  context: z.int().describe("that the commands ask for"),
  cache_used: Bytes.describe("on one card, by `sequences` of that context"),
  by_context: z.array(z.strictObject({
    context: z.int(),
    used: Bytes.describe("of one card by weights, activations, graphs, libraries and cache"),
    fits: z.boolean(),
  })),
  speed: Speed.nullable(),
  servers: z.partialRecord(z.enum(SERVERS), ServerPlan),
});
export type Layout = z.infer<typeof Layout>;

const CacheLine = z.strictObject({
  layers: z.int(),
  kind: z.string(),
  bytes_per_token: z.number().nullable().describe("of one layer; null: a state of fixed size"),
  bytes_per_sequence: z.number().nullable().describe("at most, of one layer; null: it grows"),
});

/** What `pare plan --json` prints and `lab.plan` gives. */
export const ServingPlan = z.strictObject({
  model: z.string(),
  model_type: z.string(),
  cards: z.strictObject({
    name: z.string(),
    count: z.int(),
    memory_bytes: Bytes,
    memory_source: z.string(),
    bandwidth: z.number(),
    capability: z.number().nullable(),
  }),
  asked: z.strictObject({
    context: z.int().nullable(),
    sequences: z.int(),
    utilization: z.number(),
    cache_type: z.string(),
    batched_tokens: z.int(),
  }),
  weights: z.strictObject({
    parameters: z.number(),
    active_parameters: z.number().describe("that one token goes through"),
    bytes: Bytes.describe("loaded: without layers for drafts"),
    stored_bytes: Bytes.describe("of the checkpoint"),
    source: z.enum(["formulas", "files"]),
    form: z.string(),
    parts: z.array(PartLine),
  }),
  cache: z.strictObject({
    bytes_per_token: z.number().describe("of all layers that keep every token, on one card alone"),
    native_context: z.int().nullable(),
    lines: z.array(CacheLine),
  }),
  fewest_cards: z.int().nullable().describe("of this kind that hold it; null: not 128 do"),
  plans: z.array(Layout).describe("by cards, the fewest first"),
  refused: z.array(z.strictObject({
    tensor_parallel: z.int(),
    pipeline_parallel: z.int(),
    why: z.string(),
  })),
  corrections: z.array(z.string()).describe("of what was asked and cannot be"),
  warnings: z.array(z.string()),
});
export type ServingPlan = z.infer<typeof ServingPlan>;
