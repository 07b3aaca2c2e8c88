import { UsageError } from "../../errors.ts";
import type { LayerCaches } from "../../schemas/caches/layer_caches.ts";
import type { ModelFacts } from "../../schemas/facts.ts";
import { readConfig } from "../../serving/plan/model/config.ts";
import { readShape } from "../../serving/plan/model/read_shape.ts";
import type { Cache } from "../../serving/plan/model/shape.ts";

/**
 * What each layer of a model keeps of what it read, by its config.json.
 *
 * @throws UsageError its cache is of a kind that is not known here: nothing is guessed
 */
export function layerCaches(
  config: unknown,
  { model_name, layers, kv_heads }: Pick<ModelFacts, "model_name" | "layers" | "kv_heads">,
): LayerCaches {
  const kinds = new Map<string, { count: number; cache: Cache }>();
  for (const cache of cachesOf(config, model_name)) {
    const key = JSON.stringify(cache);
    kinds.set(key, { count: (kinds.get(key)?.count ?? 0) + 1, cache });
  }
  const caches = [...kinds.values()].map(({ count, cache }) =>
    cache.kind === "state"
      ? { count, cache: { ...cache, states: [...cache.states] } }
      : { count, cache }
  );
  return { layers, kv_heads, caches };
}

/**
 * Tokens that a model reads by its config.json; undefined: that does not say, or is one that is refused where
 * the model is read.
 */
export function contextOf(config: unknown, model_name: string): number | undefined {
  try {
    return readConfig(config, model_name).max_position_embeddings;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return undefined;
  }
}

function cachesOf(config: unknown, model_name: string): Cache[] {
  try {
    return readShape(readConfig(config, model_name)).layers.flatMap(({ caches }) => caches);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `Cannot count the KV cache of ${model_name} at a context: ${error.message}; ` +
        "leave --context out",
    );
  }
}
