import type { Card } from "./cards/card_table.ts";
import { cacheBytes, type CacheType } from "./memory/cache_types.ts";
import { layOut, longestContext, mostSequences, sequenceBytes } from "./memory/cache_groups.ts";
import { type Spread, type Stage, stageBytes, stagesOf } from "./memory/ranks.ts";
import { type BatchSizes, workingMemory } from "./memory/working_memory.ts";
import type { Shape } from "./model/shape.ts";
import type { StoredForms } from "./model/stored_form.ts";
import type { Layout, Memory } from "./schema.ts";

/** A model with how it is stored. */
export interface Stored {
  readonly shape: Shape;
  readonly forms: StoredForms;
  /** Loaded bytes of its files over those of the formulas; 1: no file was read. */
  readonly scale: number;
}

/** What is asked of a plan, settled. */
export interface Asked {
  readonly context: number | null;
  readonly sequences: number;
  readonly utilization: number;
  readonly cache_type: CacheType;
  readonly batch: BatchSizes;
}

const GIB = 1024 ** 3;
/** A plan that holds less than this of one sequence is none, where no context was asked for. */
const LEAST_CONTEXT = 4096;
/** Where a config has no native context, the search for the longest ends here. */
const MOST_CONTEXT = 16_777_216;

/** `40,960`; not by Intl, whose first use takes longer than a plan. */
export const grouped = (value: number) => String(value).replaceAll(/\B(?=(\d{3})+$)/g, ",");

export const gib = (bytes: number) => `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 1)} GiB`;

function memoryOf(
  stages: readonly Stage[],
  stored: Stored,
  card: Card,
  spread: Spread,
  asked: Asked,
): Memory {
  const { shape, forms, scale } = stored;
  const weights =
    Math.max(...stages.map((stage) => stageBytes(stage, shape, forms, spread.tensor))) * scale;
  const { activations, graphs, outside } = workingMemory(shape, spread, asked.batch);
  const total = Math.floor(card.memory_bytes);
  const share = Math.floor(total * asked.utilization);
  const left = share - weights - activations - outside;
  return {
    ...{ total, asked: share, weights: Math.round(weights), activations, graphs, outside },
    cache: Math.max(0, Math.round(left - graphs)),
    cache_without_graphs: Math.max(0, Math.round(left)),
  };
}

/** Bytes that a token takes on a card in the layers that keep every one of them. */
export function growingBytes(
  caches: Stage["caches"],
  type: CacheType,
  shape: Shape,
  tensor: number,
): number {
  return caches
    .filter((one) => one.kind === "latent" || (one.kind === "tokens" && one.keeps === "all"))
    .reduce((sum, one) => sum + cacheBytes(one, type, shape, tensor), 0);
}

function whyNot(
  memory: Memory,
  [longest]: readonly [number, number],
  asked: Asked,
  needed: number,
): string | null {
  const used = memory.weights + memory.activations + memory.outside;
  if (memory.cache === 0) {
    return `weights ${gib(memory.weights)}, activations ${gib(memory.activations)}, graphs ` +
      `${gib(memory.graphs)} and libraries ${gib(memory.outside)} are more than the ` +
      `${gib(memory.asked)} of a card that may be used` +
      (used < memory.asked ? "; without the estimate of graphs they would fit" : "");
  }
  if (longest >= needed) return null;
  const one = asked.sequences === 1 ? "one sequence" : `${asked.sequences} sequences`;
  return `the cache has ${gib(memory.cache)} for ${one} of ${grouped(needed)} tokens, ` +
    `which holds ${grouped(longest)} each`;
}

/** Contexts that a table has a row for: doubled up to the native one, and what was asked. */
function tabledContexts(native: number, asked: number | null): number[] {
  const found = new Set<number>(asked === null ? [native] : [native, asked]);
  for (let context = 2048; context < native; context *= 2) found.add(context);
  return [...found].sort((a, b) => a - b);
}

/** A layout before its commands and its speed. */
export type Fit = Omit<Layout, "servers" | "speed">;

/**
 * What a spread over cards leaves for the cache and how far that goes: each with the graphs that vLLM
 * since 0.21 counts, and without, the fullest stage of the pipeline deciding.
 */
export function fit(stored: Stored, card: Card, spread: Spread, asked: Asked): Fit {
  const { shape } = stored;
  const { tensor, pipeline } = spread;
  const stages = stagesOf(shape, spread);
  const memory = memoryOf(stages, stored, card, spread, asked);
  const { batched } = asked.batch;
  const native = shape.native_context ?? MOST_CONTEXT;
  const most = Math.max(native, asked.context ?? 0);
  const layouts = stages.map(({ caches }) => layOut(caches, asked.cache_type, shape, tensor));
  const pools = [memory.cache, memory.cache_without_graphs] as const;
  const longest = pools.map((pool) =>
    Math.min(
      ...layouts.map((layout) =>
        longestContext(layout, pool, { sequences: asked.sequences, batched, most })
      ),
    )
  ) as [number, number]; // two pools were given
  const needed = asked.context ?? Math.min(native, LEAST_CONTEXT);
  const why_not = whyNot(memory, longest, asked, needed);
  const context = asked.context ?? Math.max(1, Math.min(native, longest[0]));
  const cacheAt = (length: number) =>
    Math.max(...layouts.map((layout) => sequenceBytes(layout, length, batched))) * asked.sequences;
  const beside = memory.weights + memory.activations + memory.graphs + memory.outside;
  const most_sequences = pools.map((pool) =>
    Math.min(...layouts.map((layout) => mostSequences(layout, pool, context, batched)))
  ).map((count) => Number.isFinite(count) ? count : 0) as [number, number]; // as above
  return {
    ...{ cards: tensor * pipeline, tensor_parallel: tensor, pipeline_parallel: pipeline },
    ...{ fits: why_not === null, why_not, memory, context },
    kv_bytes_per_token: Math.max(
      ...stages.map(({ caches }) => growingBytes(caches, asked.cache_type, shape, tensor)),
    ),
    longest_context: longest,
    sequences_at_context: most_sequences,
    cache_used: Math.round(cacheAt(context)),
    by_context: tabledContexts(shape.native_context ?? 131_072, asked.context).map((length) => {
      const cache = cacheAt(length);
      return { context: length, used: Math.round(beside + cache), fits: cache <= memory.cache };
    }),
  };
}
