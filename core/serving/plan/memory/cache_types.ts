import type { Cache, Shape } from "../model/shape.ts";

/** Types of the cache that a plan can ask for. `auto`: as the model computes, or as its files ask. */
export const CACHE_TYPES = [
  "auto",
  "bfloat16",
  "fp8",
  "fp8_e4m3",
  "fp8_e5m2",
  "fp8_ds_mla",
  "int8_per_token_head",
  "fp8_per_token_head",
  "nvfp4",
] as const;
export type CacheType = typeof CACHE_TYPES[number];

/** Tokens of a block, as vLLM has it by default. */
export const BLOCK = 16;
/** Bytes of a token of sparse latent attention in 8 bits: 512 values, scales, and the position in 16. */
const SPARSE_LATENT = 656;
/** Index keys are kept in 8 bits with one 4-byte scale for so many values. */
const INDEX_SCALE_EVERY = 128;

function tokenBytes(
  { key_dim, value_dim }: { key_dim: number; value_dim: number },
  type: CacheType,
  value_bytes: number,
): number {
  switch (type) {
    case "auto":
    case "bfloat16":
      return (key_dim + value_dim) * value_bytes;
    case "int8_per_token_head":
    case "fp8_per_token_head":
      return key_dim + value_dim + 8; // a scale of 4 bytes for the key and one for the value
    case "nvfp4":
      return (key_dim + value_dim) * (1 / 2 + 1 / 16);
    default:
      return key_dim + value_dim;
  }
}

/** Bytes that one layer's cache takes for a token; of a state, for a whole sequence. */
export function cacheBytes(
  cache: Cache,
  type: CacheType,
  { value_bytes }: Pick<Shape, "value_bytes">,
  cards: number,
): number {
  if (cache.kind === "tokens") {
    const heads = Math.max(1, Math.floor(cache.kv_heads / cards));
    return heads * tokenBytes(cache, type, value_bytes);
  }
  if (cache.kind === "state") {
    const sum = cache.states.reduce(
      (all, { elements, float32 }) => all + elements * (float32 ? 4 : value_bytes),
      0,
    );
    return sum / cards;
  }
  // Every card keeps all of a latent cache.
  const { width, index_dim } = cache;
  const index = index_dim === null ? 0 : index_dim + 4 * Math.ceil(index_dim / INDEX_SCALE_EVERY);
  const eight = /^fp8/.test(type);
  const own = type === "fp8_ds_mla" || (eight && index_dim !== null)
    ? SPARSE_LATENT
    : eight
    ? width
    : width * value_bytes;
  return own + index;
}
