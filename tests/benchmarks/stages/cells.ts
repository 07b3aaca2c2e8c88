/** The cells of the benchmark: each codec and plain rounding, the most telling first. */
import type { ActionInput } from "../../../core/mod.ts";

export interface Cell {
  /** As the figure and the table name it. */
  readonly name: string;
  readonly action: ActionInput & {
    readonly params: Readonly<Record<string, number | string | boolean>>;
  };
}

type Params = Cell["action"]["params"];

function rounded(method: string, bits: number, group_size: number, params: Params = {}): Cell {
  const group = group_size === -1 ? "rows" : `g${group_size}`;
  return {
    name: `${method} ${bits} ${group}`,
    action: { agent: "quantization", method, params: { bits, group_size, ...params } },
  };
}

/** SeedLM of K, C, P. */
function seeds(seed_bits: number, block_weights: number, coefficients: number): Cell {
  return {
    name: `seedlm ${seed_bits}, ${block_weights}, ${coefficients}`,
    action: {
      agent: "codec",
      method: "seedlm",
      params: { seed_bits, block_weights, coefficients },
    },
  };
}

function lattice(lattice_points: number, outer_classes: number): Cell {
  return {
    name: `hyper_compression ${lattice_points}, ${outer_classes}`,
    action: {
      agent: "codec",
      method: "hyper_compression",
      params: { lattice_points, outer_classes },
    },
  };
}

/** Entropy coded; of few points a matrix's mean error is above what is allowed by default. */
function coded(lattice_points: number): Cell {
  const params = { lattice_points, entropy_coded: true, raw_above: 1 };
  return {
    name: `hyper_compression ${lattice_points} coded`,
    action: { agent: "codec", method: "hyper_compression", params },
  };
}

/** The codebooks are fitted once: a refit takes as long again. */
function vectors(vector_length: number, centroid_bits: number, refits = 0): Cell {
  const params = { vector_length, centroid_bits, ...(refits === 0 ? { refits } : {}) };
  return {
    name: `vptq v${vector_length} c${centroid_bits}${refits === 0 ? "" : " refitted"}`,
    action: { agent: "codec", method: "vptq", params },
  };
}

/** A codec of its own for each layer. */
function composed(average_bits: number): Cell {
  const params = { average_bits, layer_codecs: "vptq-hyper_compression" };
  return { name: `compose ${average_bits}`, action: { agent: "codec", method: "compose", params } };
}

const CLIP = { clip: true };

/** A cell for each codec and rate, with rounding of about equal bytes. */
export const CELLS: readonly Cell[] = [
  ...[rounded("rtn", 4, 192, CLIP), lattice(100, 1), rounded("gptq", 4, 192), vectors(4, 8)],
  ...[coded(400), coded(1600), coded(100), coded(6400)],
  ...[
    seeds(12, 8, 3),
    rounded("gptq", 2, 192),
    rounded("gptq", 3, 192),
    rounded("rtn", 3, 192, CLIP),
  ],
  ...[lattice(1600, 3), rounded("rtn", 8, -1), vectors(3, 9), seeds(12, 8, 4), vectors(2, 8)],
  ...[lattice(400, 3), rounded("autoround", 3, 192), rounded("rtn", 2, 192, CLIP)],
  ...[seeds(12, 8, 2), rounded("autoround", 4, 192), rounded("autoround", 2, 192)],
  ...[seeds(8, 16, 3), seeds(12, 16, 4), lattice(6400, 3), vectors(4, 6), lattice(100, 3)],
  ...[lattice(1600, 1), seeds(12, 4, 4), vectors(2, 10), composed(4), vectors(4, 8, 2)],
];

/** What the tiny model can be put into: the benchmark tried. */
export const QUICK: readonly Cell[] = [
  rounded("rtn", 4, 32, CLIP),
  seeds(8, 8, 3),
  lattice(400, 3),
];
