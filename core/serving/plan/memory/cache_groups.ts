import type { Cache, Shape } from "../model/shape.ts";
import { BLOCK, cacheBytes, type CacheType } from "./cache_types.ts";

/**
 * Blocks of a sequence's state: with prefix caching, which is on, the state at the last whole block is
 * kept beside the running one (`mamba_cache_mode` "align").
 */
const STATE_BLOCKS = 2;

/** Layers whose blocks are given out together, and what a sequence needs of them. */
interface Group {
  readonly keeps: "all" | "window" | "chunk" | "state";
  readonly span: number;
  /** Tokens of a block. */
  readonly block: number;
}

/** The cache of one card as vLLM lays it out. */
export interface CacheLayout {
  /** Bytes of one block with all the layers of a group. */
  readonly block_bytes: number;
  readonly groups: readonly Group[];
}

interface Kind extends Group {
  readonly page: number;
  readonly layers: number;
}

const divide = (a: number, b: number) => Math.ceil(a / b);

/** Layers of a stage by kind; those that keep everything are one kind if nothing else is there. */
function kindsOf(
  caches: readonly Cache[],
  type: CacheType,
  shape: Pick<Shape, "value_bytes">,
  cards: number,
): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const cache of caches) {
    const bytes = cacheBytes(cache, type, shape, cards);
    const [keeps, span] = cache.kind === "tokens"
      ? [cache.keeps, cache.span ?? 0] as const
      : cache.kind === "latent"
      ? ["all", 0] as const
      : ["state", 0] as const;
    const page = keeps === "state" ? bytes : bytes * BLOCK;
    const key = `${keeps} ${span} ${page}`;
    const own = kinds.get(key);
    kinds.set(key, { keeps, span, page, block: BLOCK, layers: (own?.layers ?? 0) + 1 });
  }
  return [...kinds.values()];
}

/** A block of attention grows until a state fits in it; then a state is one block. */
function growToState(kinds: readonly Kind[]): Kind[] {
  const state = Math.max(0, ...kinds.map(({ keeps, page }) => keeps === "state" ? page : 0));
  const others = kinds.filter(({ keeps }) => keeps !== "state");
  if (state === 0 || others.length === 0) return [...kinds];
  const token = Math.min(...others.map(({ page }) => page / BLOCK));
  const block = BLOCK * divide(state, BLOCK * token);
  const grown = others.map((kind) => ({ ...kind, block, page: kind.page / BLOCK * block }));
  const page = Math.max(...grown.map((kind) => kind.page));
  return kinds.map((kind) => kind.keeps === "state" ? { ...kind, page } : grown.shift()!);
}

/** Pages of all kinds are made as large as the largest: by more tokens where that divides, else padded. */
function oneSize(kinds: readonly Kind[]): Kind[] {
  const page = Math.max(...kinds.map((kind) => kind.page));
  return kinds.map((kind) => ({
    ...kind,
    page,
    block: kind.keeps !== "state" && page % kind.page === 0
      ? kind.block * (page / kind.page)
      : kind.block,
  }));
}

/**
 * How vLLM lays the cache out: groups of as many layers each, which share blocks of one size. A group
 * that is not full is padded, which costs as much as its layers would.
 */
export function layOut(
  caches: readonly Cache[],
  type: CacheType,
  shape: Pick<Shape, "value_bytes">,
  cards: number,
): CacheLayout {
  const kinds = kindsOf(caches, type, shape, cards);
  if (kinds.length === 0) return { block_bytes: 0, groups: [] };
  if (kinds.every(({ keeps }) => keeps === "all") || kinds.length === 1) {
    const block_bytes = kinds.reduce((sum, { page, layers }) => sum + page * layers, 0);
    const { keeps, span, block } = kinds[0]!;
    return { block_bytes, groups: [{ keeps, span, block }] };
  }
  const even = oneSize(growToState(kinds));
  const counts = even.map(({ layers }) => layers);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const together = most < least * 1.5 ? most : least;
  return {
    block_bytes: even[0]!.page * together,
    groups: even.flatMap(({ keeps, span, block, layers }) =>
      Array.from({ length: divide(layers, together) }, () => ({ keeps, span, block }))
    ),
  };
}

/** Blocks that one sequence needs at a length; `batched`: tokens that are read at once. */
function blocksOf(group: Group, length: number, batched: number): number {
  switch (group.keeps) {
    case "all":
      return divide(length, group.block);
    case "state":
      return STATE_BLOCKS;
    case "window":
      return divide(Math.min(group.span - 1 + batched, length), group.block) + 1;
    case "chunk":
      return divide(Math.min(group.span + batched, length), group.block);
  }
}

/** Blocks that one sequence of so many tokens needs of all groups. */
export function sequenceBlocks(layout: CacheLayout, length: number, batched: number): number {
  return layout.groups.reduce((sum, group) => sum + blocksOf(group, length, batched), 0);
}

/** Bytes of the cache of one card that a sequence of so many tokens needs. */
export function sequenceBytes(layout: CacheLayout, length: number, batched: number): number {
  return layout.block_bytes * sequenceBlocks(layout, length, batched);
}

/** The longest length of which `sequences` fit in a pool; 0: not one token does. */
export function longestContext(
  layout: CacheLayout,
  pool: number,
  { sequences, batched, most }: { sequences: number; batched: number; most: number },
): number {
  const fits = (length: number) => sequences * sequenceBytes(layout, length, batched) <= pool;
  if (!fits(1)) return 0;
  let [low, high] = [1, Math.max(1, most)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** How many sequences of a length a pool holds at once. */
export function mostSequences(
  layout: CacheLayout,
  pool: number,
  length: number,
  batched: number,
): number {
  const one = sequenceBytes(layout, length, batched);
  return one === 0 ? Infinity : Math.max(0, Math.floor(pool / one));
}
