import { z } from "zod";

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
