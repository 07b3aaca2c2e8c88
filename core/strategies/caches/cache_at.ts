import type { KeptCache } from "../../contract/change.ts";
import type { LayerCaches } from "../../schemas/caches/layer_caches.ts";
import type { ResolvedAction } from "../../schemas/action.ts";
import type { Facts, ModelFacts } from "../../schemas/facts.ts";
import type { AgentMethod } from "../resolve_action.ts";
import { cacheBytes } from "../../serving/plan/memory/cache_types.ts";
import { chainOf, type Link } from "../chain.ts";

type LayerCache = LayerCaches["caches"][number]["cache"];

/** Caches are counted as keys and values of 16 bits, whatever a model was trained in. */
const SIXTEEN = { value_bytes: 2 } as const;

/** Bytes of one layer whose model reads `context_length` tokens at most, after so many. */
function layerBytes(
  cache: LayerCache,
  tokens: number,
  kept: KeptCache | null,
  context_length: number,
): number {
  const one = cacheBytes(cache, "auto", SIXTEEN, 1);
  if (cache.kind === "state") return one;
  if (cache.kind === "latent") return one * tokens;
  const { span, kv_heads, key_dim, value_dim } = cache;
  // A window that no text fills keeps all, and policies cut it.
  if (span !== null && span < context_length) return one * Math.min(span, tokens);
  if (kept === null) return one * tokens;
  const { copies, coded, noted_bytes = 0 } = kept;
  const held = Math.min(kept.tokens, tokens);
  const codes = Math.min(coded?.tokens ?? 0, held);
  const codeBits = coded === undefined
    ? 0
    : key_dim * coded.key_bits + value_dim * coded.value_bits;
  const a_head = codes * codeBits / 8 + held * noted_bytes;
  return copies * (one * (held - codes) + kv_heads * a_head);
}

/**
 * Bytes that keys and values of a model take once it has read so many tokens, in 16 bits; null: its
 * config was not read. A model that lost layers or heads keeps their share of it.
 *
 * @param kept what a policy leaves in layers that keep every token; null: there is none
 */
export function cacheBytesAt(
  model: Pick<ModelFacts, "layer_caches" | "layers" | "kv_heads" | "context_length">,
  tokens: number,
  kept: KeptCache | null = null,
): number | null {
  const { layer_caches, layers, kv_heads, context_length } = model;
  if (layer_caches === undefined) return null;
  const heads = kv_heads / layer_caches.kv_heads;
  const whole = layer_caches.caches.reduce((sum, { count, cache }) => {
    const own = cache.kind === "tokens"
      ? { ...cache, kv_heads: Math.max(1, Math.round(cache.kv_heads * heads)) }
      : cache;
    return sum + count * layerBytes(own, tokens, kept, context_length);
  }, 0);
  return Math.round(whole * layers / layer_caches.layers);
}

/** What a chain's policy leaves of a prompt of so many tokens; null: none lets go of any. */
export function keptAt(chain: readonly Link[], tokens: number): KeptCache | null {
  const setting = chain.findLast(({ leaves }) => leaves.model.cache !== undefined);
  if (setting === undefined) return null;
  const { entry: { method }, action, met, leaves } = setting;
  return method.keeps?.(action.params, tokens, met) ??
    { tokens: leaves.model.cache!.kept_tokens.mean, copies: 1 };
}

/** The bytes of a recipe's keys and values after so many tokens; null: they cannot be told. */
export function recipeCacheBytes(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  tokens: number,
): number | null {
  const chain = chainOf(actions, methods, facts);
  const model = chain.at(-1)?.leaves.model ?? facts.model;
  return cacheBytesAt(model, tokens, keptAt(chain, tokens));
}

/**
 * The crossing point of a recipe's bytes: the least length from which on, up to the longest that the model
 * reads, its policy keeps fewer than the full cache of the same weights; null: it has none, or none at the
 * longest.
 */
export function bytesCrossing(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): number | null {
  const chain = chainOf(actions, methods, facts);
  const model = chain.at(-1)?.leaves.model ?? facts.model;
  const less = (tokens: number) => {
    const kept = keptAt(chain, tokens);
    const full = cacheBytesAt(model, tokens);
    return kept !== null && full !== null && cacheBytesAt(model, tokens, kept)! < full;
  };
  if (!less(model.context_length)) return null;
  // What a policy spares grows with the length, so halves find where it begins: a model may read millions.
  let [not, from] = [0, model.context_length];
  while (from - not > 1) {
    const middle = Math.floor((not + from) / 2);
    if (less(middle)) from = middle;
    else not = middle;
  }
  return from;
}
