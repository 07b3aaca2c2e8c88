import {
  choice,
  defineMethod,
  type Facts,
  type Finding,
  integer,
  real,
  type Support,
} from "../../core/mod.ts";
import { vectorsBytes, type VectorsForm } from "../forms/vectors.ts";
import {
  codecHint,
  encodesOnce,
  hasMatrices,
  leavesEncoded,
  NOT_A_CODECS,
  PROCESS_BYTES,
} from "./_codec.ts";

const LENGTHS = [2, 3, 4, 6, 8] as const;
const CENTROID_BITS = [4, 6, 8, 9, 10, 12] as const;
const RESIDUAL_BITS = [0, 4, 6, 8] as const;
const MOST_BITS = 8;
/**
 * The column loop passes errors on, as GPTQ: what is left of the weights' own direction may be
 * little, of another layer's weights it is 0.
 */
export const VECTORS_LEAST_COSINE = 0.1;
/** Seconds on one core: k-means, the column loop and a refit for each weight, and what it is given. */
const PRICES = { weight: 1.5e-6, weight_and_centroid: 6e-9, weight_and_window: 1e-8 };
const START_SECONDS = 8;
const FLOAT_BYTES = 4;
/** Copies of a matrix that are held while it is searched, and squares of its row's length. */
const COPIES = 10;

interface VectorParams {
  readonly vector_length: (typeof LENGTHS)[number];
  readonly centroid_bits: (typeof CENTROID_BITS)[number];
  readonly residual_bits: (typeof RESIDUAL_BITS)[number];
  readonly codebook_share: number;
  readonly outlier_share: number;
  readonly refits: number;
  readonly samples: number;
}

type Code = Pick<VectorParams, "vector_length" | "centroid_bits" | "residual_bits">;

/** Codes that a search goes through, by bits per weight. */
const LADDER: readonly Code[] = [
  { vector_length: 4, centroid_bits: 6, residual_bits: 0 },
  { vector_length: 4, centroid_bits: 8, residual_bits: 0 },
  { vector_length: 4, centroid_bits: 10, residual_bits: 0 },
  { vector_length: 3, centroid_bits: 9, residual_bits: 0 },
  { vector_length: 2, centroid_bits: 8, residual_bits: 0 },
  { vector_length: 2, centroid_bits: 10, residual_bits: 0 },
];

const codeBits = ({ vector_length, centroid_bits, residual_bits }: Code): number =>
  (centroid_bits + residual_bits) / vector_length;

const vectorsForm = (params: VectorParams): VectorsForm => ({
  form: "vectors",
  vector_length: params.vector_length,
  centroid_bits: params.centroid_bits,
  residual_bits: params.residual_bits,
  codebook_share: params.codebook_share,
  outlier_share: params.outlier_share,
});

/** More bits per weight where quality was lost, fewer where it was kept. */
function nextParams<P extends VectorParams>(params: P, finding: Finding): P | null {
  const bits = codeBits(params);
  const code = finding === "lost"
    ? LADDER.find((one) => codeBits(one) > bits)
    : LADDER.findLast((one) => codeBits(one) < bits);
  return code === undefined ? null : { ...params, ...code };
}

function accepts(params: VectorParams, facts: Facts): Support {
  const has = hasMatrices(facts);
  if (!has.ok || codeBits(params) <= MOST_BITS) return has;
  return { ok: false, reason: `its codes take more than ${MOST_BITS} bits per weight` };
}

const BITS_OF_A_WEIGHT =
  "a weight has (centroid_bits + residual_bits) / vector_length bits: 2 by " +
  "default, 3 with residual_bits: 4";

/** VPTQ by its paper (arXiv 2409.17066); its official code needs CUDA. */
export default defineMethod({
  name: "vptq",
  summary: "Stores vectors of weights as numbers of centroids that suit the layer's inputs",
  knobs_named_for: {
    quantization_bits: BITS_OF_A_WEIGHT,
    bits: BITS_OF_A_WEIGHT,
    num_centroids: "centroid_bits is its power of two: 8 for 256",
    num_res_centroids: "residual_bits is its power of two: 4 for 16, 0 for none",
    npercent: "outlier_share is a hundredth of it",
    ...NOT_A_CODECS,
  },
  knobs: {
    vector_length: choice(LENGTHS, {
      default: 4,
      aliases: ["vector_lens"],
      unit: "weights a vector",
      description: "Weights of a column, below each other, that share a code",
    }),
    centroid_bits: choice(CENTROID_BITS, {
      default: 8,
      unit: "bits of a centroid's number",
      description: "2 to that power of centroids has a matrix's codebook",
    }),
    residual_bits: choice(RESIDUAL_BITS, {
      default: 0,
      unit: "bits of a second centroid's number",
      description: "Size of a second codebook, whose centroids are added; 0: there is none",
    }),
    codebook_share: real({
      minimum: 0.02,
      maximum: 2,
      default: 0.2,
      log: true,
      unit: "bits per weight",
      description: "Where a matrix's codebooks would take more, its vectors are shorter",
    }),
    outlier_share: real({
      minimum: 0,
      maximum: 0.1,
      default: 0,
      unit: "share of the columns",
      description: "Columns with the largest inputs that stay in float16",
    }),
    refits: integer({
      minimum: 0,
      maximum: 4,
      default: 2,
      unit: "times",
      description: "How often codebooks are fitted to their codes and the codes searched again",
    }),
    dampening: real({
      minimum: 0.001,
      maximum: 0.2,
      default: 0.01,
      log: true,
      aliases: ["percdamp"],
      unit: "share of the Hessian's mean diagonal",
      description: "What is added to the Hessian's diagonal before it is inverted",
    }),
    samples: integer({
      minimum: 1,
      maximum: 512,
      default: 16,
      log: true,
      aliases: ["calibration_samples", "nsamples"],
      unit: "calibration windows",
      description: "Calibration windows used, at most as many as the study has",
      takes: "windows",
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves(params, facts) {
    return leavesEncoded(
      ["linear"],
      vectorsForm(params),
      vectorsBytes,
      facts,
      VECTORS_LEAST_COSINE,
    );
  },
  order: encodesOnce,
  label: (params) => [
    `${Math.round(100 * codeBits(params)) / 100}-bit`,
    `v${params.vector_length}`,
    ...(params.residual_bits > 0 ? [`residual ${params.residual_bits}`] : []),
    ...(params.outlier_share > 0 ? [`outliers ${params.outlier_share}`] : []),
  ],
  hint: codecHint,
  supports: hasMatrices,
  accepts,
  seed(boldness) {
    if (boldness === "conservative") return { vector_length: 2, centroid_bits: 8 };
    return boldness === "balanced" ? { vector_length: 3, centroid_bits: 9 } : { vector_length: 4 };
  },
  next: nextParams,
  estimateSeconds({ vector_length, centroid_bits, residual_bits, refits, samples }, { model }) {
    const centroids = 2 ** centroid_bits + (residual_bits > 0 ? 2 ** residual_bits : 0);
    const a_pass = PRICES.weight + centroids / vector_length * PRICES.weight_and_centroid;
    const passes = 1 + refits + (residual_bits > 0 ? 1 : 0);
    return START_SECONDS +
      model.linear_parameters * (passes * a_pass + samples * PRICES.weight_and_window);
  },
  // The model, all windows at one block, a matrix's search, every code.
  estimateMemory({ samples }, { model }) {
    const { parameters, hidden_size, intermediate_size, linear_shapes, linear_parameters } = model;
    const widest = Math.max(0, ...linear_shapes.map(({ in_features }) => in_features));
    const largest = Math.max(
      0,
      ...linear_shapes.map(({ out_features, in_features }) => out_features * in_features),
    );
    const inputs = samples * 256 * (8 * hidden_size + 4 * intermediate_size);
    const searched = COPIES * largest + 6 * widest ** 2;
    return PROCESS_BYTES + FLOAT_BYTES * (parameters + inputs + searched) + linear_parameters;
  },
});
