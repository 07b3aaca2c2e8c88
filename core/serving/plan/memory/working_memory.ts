import type { Card } from "../cards/card_table.ts";
import type { Shape } from "../model/shape.ts";
import type { Spread } from "./ranks.ts";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

/** What a card holds beside weights and cache, in bytes. */
export interface WorkingMemory {
  /** Peak of activations while `batched` tokens are read; ± 30 %. */
  readonly activations: number;
  /** CUDA graphs as vLLM estimates them before it gives out the cache (since 0.21), and none. */
  readonly graphs: number;
  /** Buffers of libraries and of communication. */
  readonly outside: number;
}

/** What a server reads and answers at once. */
export interface BatchSizes {
  /** Tokens that are read in one step. */
  readonly batched: number;
  /** Sequences that are answered side by side. */
  readonly sequences: number;
}

/** vLLM's own defaults of its API server, by the card (`engine/arg_utils.py` of 0.32). */
export function usualBatch(card: Card): BatchSizes {
  if (card.memory_bytes >= 160 * GIB) return { batched: 16_384, sequences: 1024 };
  if (card.memory_bytes >= 70 * GIB && !card.name.startsWith("A100")) {
    return { batched: 8192, sequences: 1024 };
  }
  return { batched: 2048, sequences: 256 };
}

/** Sizes up to `most` that are captured by default: 1, 2, 4, then in steps of 8 to 256 and of 16 above. */
function sizesUpTo(most: number): number {
  return Math.round(3 + Math.min(most, 256) / 8 + Math.max(0, (most - 256) / 16));
}

const MOST_CAPTURED = 512;

/** Graphs of a start: of parts of a step up to twice the sequences, and of whole steps up to those. */
function capturedGraphs(sequences: number): number {
  return sizesUpTo(Math.min(MOST_CAPTURED, 2 * sequences)) +
    sizesUpTo(Math.min(MOST_CAPTURED, sequences));
}

/**
 * Bytes of graphs as vLLM estimates them: 0.65 GiB for 34 layers and 67 graphs (its pull request 21489),
 * 1.59 GiB for 64 layers and 86 graphs (Qwen2.5-32B-AWQ on a card of 24 GB). What is captured in the end
 * shares a pool and is a third of it at times.
 */
const GRAPHS = { base: 150 * MIB, each_layer: .25 * MIB };

/**
 * Memory of one card beside weights and cache. Activations are a rule of thumb: two bytes for four
 * hidden widths and two inner ones a token, experts' inputs copied for each expert taken, and logits in
 * 32 bits for each sequence; published logs lie within about 30 % of it for text models.
 */
export function workingMemory(
  shape: Shape,
  { tensor, pipeline }: Spread,
  { batched, sequences }: BatchSizes,
): WorkingMemory {
  const inner = shape.inner_size;
  const has_experts = shape.divisors.some(({ what }) => what === "inner size of an expert");
  const expert = has_experts
    ? shape.layers.flatMap(({ weights }) => weights).find(({ part, copies }) =>
      part === "experts" && copies > 1
    )
    : undefined;
  const taken = expert === undefined ? 0 : Math.round(expert.active * expert.copies);
  const widths = shape.hidden_size * (4 + taken) + 2 * inner / tensor;
  const logits = sequences * Math.ceil(shape.vocab_size / tensor) * 4 +
    sequences * shape.vocab_size * 2;
  return {
    activations: Math.round(2 * batched * widths + logits),
    graphs: Math.round(
      GRAPHS.base + GRAPHS.each_layer * shape.layers.length / pipeline * capturedGraphs(sequences),
    ),
    outside: Math.round(.15 * GIB + (tensor > 1 ? .4 * GIB : 0) + (pipeline > 1 ? .1 * GIB : 0)),
  };
}
