import { z } from "zod";

/** What a layer keeps of the past, as `Cache` of `core/serving/plan/model/shape.ts`. */
const LayerCache = z.union([
  z.strictObject({
    kind: z.literal("tokens"),
    kv_heads: z.int().positive(),
    key_dim: z.int().positive(),
    value_dim: z.int().positive(),
    keeps: z.enum(["all", "window", "chunk"]),
    span: z.int().positive().nullable().describe("tokens of the window or chunk; null: all"),
  }),
  z.strictObject({
    kind: z.literal("latent"),
    width: z.int().positive(),
    index_dim: z.int().positive().nullable(),
  }),
  z.strictObject({
    kind: z.literal("state"),
    states: z.array(z.strictObject({ elements: z.number(), float32: z.boolean() })),
  }),
]);

/** What the layers of a model keep of what was read, by its config. */
export const LayerCaches = z.strictObject({
  layers: z.int().describe("of the model that the config describes"),
  kv_heads: z.int().describe("of that model: an action that removes heads leaves that share"),
  caches: z.array(z.strictObject({
    count: z.int().positive().describe("layers with such a cache"),
    cache: LayerCache,
  })),
});
export type LayerCaches = z.infer<typeof LayerCaches>;
