import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Vectors of weights as numbers of centroids. */
export interface VectorsForm extends StoredForm {
  readonly form: "vectors";
  /** Weights of a column that lie below each other. */
  readonly vector_length: number;
  readonly centroid_bits: number;
  /** Of a second centroid that is added to the first; 0: none. */
  readonly residual_bits: number;
  /** Bits per weight that a matrix's codebooks may take: else its vectors are shorter. */
  readonly codebook_share: number;
  /** Share of the columns that is kept in float16. */
  readonly outlier_share: number;
}

type Vector = Pick<VectorsForm, "vector_length" | "centroid_bits" | "residual_bits">;

const HALF_BYTES = 2;
/** Place of an outlier column. */
const COLUMN_BYTES = 4;
/** A matrix's scale, what its vectors are made of, and its shape. */
const MATRIX_BYTES = 4 + 4 + 16;

const codebookHalves = ({ vector_length, centroid_bits, residual_bits }: Vector): number =>
  vector_length * (2 ** centroid_bits + (residual_bits > 0 ? 2 ** residual_bits : 0));

/** The vector itself and every shorter one with as many whole bits a weight, the longest first. */
function shorterVectors({ vector_length, centroid_bits, residual_bits }: Vector): Vector[] {
  const lengths = Array.from({ length: vector_length }, (_, n) => vector_length - n);
  return lengths.map((length) => ({
    vector_length: length,
    centroid_bits: centroid_bits * length / vector_length,
    residual_bits: residual_bits * length / vector_length,
  })).filter(({ centroid_bits: c, residual_bits: r }) =>
    Number.isInteger(c) && Number.isInteger(r)
  );
}

/** What a vector of such a matrix is made of: as asked, or shorter where its codebooks take too much. */
function vectorOf(form: VectorsForm, { out_features, in_features }: LinearShape): Vector {
  const most = form.codebook_share * out_features * in_features;
  const vectors = shorterVectors(form);
  return vectors.find((one) => 8 * HALF_BYTES * codebookHalves(one) <= most) ?? vectors.at(-1)!;
}

/** Bytes of matrices in this form: codes, codebooks, scales, outliers, and what each has once. */
export function vectorsBytes(form: VectorsForm, shapes: readonly LinearShape[]): number {
  return shapes.reduce((sum, shape) => {
    const { out_features, in_features, count } = shape;
    const vector = vectorOf(form, shape);
    const outliers = Math.floor(form.outlier_share * in_features);
    const vectors = Math.ceil(out_features / vector.vector_length) * (in_features - outliers);
    const codes = Math.ceil(vectors * (vector.centroid_bits + vector.residual_bits) / 8);
    const halves = codebookHalves(vector) + out_features * (1 + outliers);
    return sum +
      count * (codes + HALF_BYTES * halves + COLUMN_BYTES * outliers + MATRIX_BYTES);
  }, 0);
}

/** Pare's own layout, which no other library reads. */
export default defineForm({
  name: "vectors",
  summary: "Of each vector of weights the number of a centroid in the matrix's codebook",
});
