/** The settings of each codec that a composed model's layers may have. */
import type { Facts, LinearShape, StoredForm } from "../../core/mod.ts";
import { latticeBytes, type LatticeForm } from "../forms/lattice.ts";
import { seedsBytes, type SeedsForm } from "../forms/seeds.ts";
import { vectorsBytes, type VectorsForm } from "../forms/vectors.ts";
import { cutsRows, LEAST_COSINE } from "./_codec.ts";
import hyperCompression from "./hyper_compression.ts";
import seedlm from "./seedlm.ts";
import vptq, { VECTORS_LEAST_COSINE } from "./vptq.ts";

/** A codec at one rate. */
export interface Rung {
  readonly codec: Codec;
  readonly form: StoredForm;
  readonly least_cosine: number;
  /** By the form's formula. */
  readonly bytes: (shapes: readonly LinearShape[]) => number;
  /** To encode every linear layer. */
  readonly seconds: (facts: Facts) => number;
  /** Whether its blocks divide every row. */
  readonly fits: (facts: Facts) => boolean;
}

export type Codec = "seedlm" | "vptq" | "hyper_compression";

function seeds(
  seed_bits: 12,
  block_weights: 8 | 12 | 16,
  coefficients: 3 | 4,
): Rung {
  const params = { seed_bits, block_weights, coefficients };
  const form: SeedsForm = { form: "seeds", ...params };
  return {
    ...{ codec: "seedlm", form, least_cosine: LEAST_COSINE },
    bytes: (shapes) => seedsBytes(form, shapes),
    seconds: (facts) => seedlm.estimateSeconds({ ...params, exponent_rule: "ceil" }, facts),
    fits: (facts) => cutsRows(block_weights, facts).ok,
  };
}

function vectors(vector_length: 2 | 3 | 4, centroid_bits: 8 | 9): Rung {
  const code = { vector_length, centroid_bits, residual_bits: 0 } as const;
  const shares = { codebook_share: 0.2, outlier_share: 0 };
  const form: VectorsForm = { form: "vectors", ...code, ...shares };
  const params = { ...code, ...shares, refits: 0, dampening: 0.01, samples: 1 };
  return {
    ...{ codec: "vptq", form, least_cosine: VECTORS_LEAST_COSINE },
    bytes: (shapes) => vectorsBytes(form, shapes),
    seconds: (facts) => vptq.estimateSeconds(params, facts),
    fits: () => true,
  };
}

function points(
  lattice_points: 100 | 400 | 1600 | 6400,
  outer_classes: 1 | 3,
  entropy_coded = false,
): Rung {
  const lattice = { lattice_points, outer_classes, entropy_coded } as const;
  const form: LatticeForm = { form: "lattice", ...lattice };
  const params = { ...lattice, raw_above: 1, targets: "linear" } as const;
  return {
    ...{ codec: "hyper_compression", form, least_cosine: LEAST_COSINE },
    bytes: (shapes) => latticeBytes(form, shapes),
    seconds: (facts) => hyperCompression.estimateSeconds(params, facts),
    fits: () => true,
  };
}

/** Entropy coded: of the same points fewer bits, or for the same bits far more points. */
const coded = (lattice_points: 100 | 400 | 1600 | 6400) => points(lattice_points, 3, true);

/** The same as LADDERS of codec/settings.py in the Python half. */
const RUNGS: readonly Rung[] = [
  ...[seeds(12, 16, 4), seeds(12, 12, 4), seeds(12, 8, 3), seeds(12, 8, 4)],
  ...[vectors(4, 8), vectors(3, 9), vectors(2, 8)],
  ...[points(100, 1), points(400, 3), points(1600, 3)],
  ...[coded(100), coded(400), coded(1600), coded(6400)],
];

/** What the layers of this model may have. codecs: names between hyphens */
export function rungsOf(codecs: string, facts: Facts): readonly Rung[] {
  const wanted = codecs.split("-");
  return RUNGS.filter(({ codec, fits }) => wanted.includes(codec) && fits(facts));
}
