import { z } from "zod";
import { KnobValue } from "../action.ts";

/** A mix of kept layers, as a request for one was answered. */
export const MixCandidate = z.strictObject({
  source: z.enum(["fisher", "reconstruction", "uniform", "near"]).describe(
    "the scorer whose optimum it is; uniform: all layers alike; near: an optimum of shaken scores",
  ),
  mix: z.string().describe("FORMAT=LAYERS for every layer in the model's order, from 0"),
  size_bytes: z.int().describe("of the linear layers"),
  weight_bits: z.number().describe("of a linear weight, with its share of scales and zero points"),
  predicted_kl: z.number().describe("nats per token: summed scores of its layers, each alone"),
  kl: z.number().nullable().describe("nats per token, measured; null: it was not"),
  kl_by_window: z.array(z.number()),
  less_uniform: z.strictObject({
    mean: z.number(),
    low: z.number(),
    high: z.number(),
    windows: z.int(),
  }).nullable().describe("KL less that of the best uniform mix, paired over windows, 95 %"),
  won: z.boolean(),
});
export type MixCandidate = z.infer<typeof MixCandidate>;

/** Call `mix`: the best assignment of kept layers to formats under a budget. */
export const MixRequest = z.strictObject({
  call: z.literal("mix"),
  artifact_dir: z.string(),
  calibration_path: z.string().describe("written by prepare_data"),
  formats: z.array(z.string()).min(1).describe("by name, such as 4-bit-g64"),
  windows: z.int().positive().describe("that layers are rounded and scored by"),
  tokens: z.int().positive().describe("of each window"),
  budget_bits: z.number().positive().nullable().describe("per linear weight"),
  budget_bytes: z.int().positive().nullable().describe("of the linear layers"),
  refine: z.int().nonnegative().describe("mixes that are evaluated; 0: scores decide"),
  refine_windows: z.int().nonnegative().describe("further windows, which evaluate alone"),
  fused: z.boolean().describe("layers that are given the same input share a format"),
  seed: z.int(),
  layer_cache: z.string().describe("the model's rounded layers, kept"),
});
export type MixRequest = z.infer<typeof MixRequest>;

/** Mixes that were weighed against one another, whenever somebody asked for one. */
export const MixesCompared = z.strictObject({
  type: z.literal("mixes_compared"),
  at: z.string(),
  study_id: z.string(),
  artifact_id: z.string().describe("whose layers they are"),
  mix_id: z.string().describe("of this question; asked again, its rows replace the earlier ones"),
  seed: z.int(),
  calibration_sha256: z.string().describe("of the windows of text"),
  budget_bytes: z.int(),
  mixes: z.array(MixCandidate).min(1),
});
export type MixesCompared = z.infer<typeof MixesCompared>;

/** What call `mix` answers. */
export const MixResult = z.strictObject({
  budget_bytes: z.int(),
  mixes: z.array(MixCandidate).min(1),
  curve: z.array(z.strictObject({
    weight_bits: z.number(),
    size_bytes: z.int(),
    predicted_kl: z.number(),
  })).describe("the best mix of each budget, by scores"),
  solve_seconds: z.number(),
  kept_bytes: z.int().describe("of all layers in all formats on disk"),
  action: z.strictObject({
    agent: z.string(),
    method: z.string(),
    params: z.record(z.string(), KnobValue),
  }).describe("the mix that won as an ordinary action: it needs no kept layers"),
});
export type MixResult = z.infer<typeof MixResult>;
