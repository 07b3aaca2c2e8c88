import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Pairs of weights as the numbers of points in a plane. */
export interface LatticeForm extends StoredForm {
  readonly form: "lattice";
  /** Points of the inner square, without its centre. */
  readonly lattice_points: number;
  /** Classes that there may be outside of it. */
  readonly outer_classes: number;
  /** Frequent points take fewer bits: bytes hang on the weights, and are an estimate beforehand. */
  readonly entropy_coded: boolean;
}

/** A matrix's points and classes, its plane, and its shape. */
const MATRIX_BYTES = 12 + 16 + 16;
/**
 * Bits of an entropy coded weight, by points a side of the lattice: 2.67, 3.47 and 4.42 of 10, 20 and 40
 * in matrices of SmolLM2-135M.
 */
function codedBits(steps: number): number {
  return Math.log2(steps) - 0.95 + 3 / steps;
}

/** Bits that a pair of weights takes. */
export function pairBits(
  { lattice_points, outer_classes }: Pick<LatticeForm, "lattice_points" | "outer_classes">,
): number {
  return Math.ceil(Math.log2((lattice_points + 1) * (outer_classes + 1)));
}

/**
 * Bytes of matrices in this form: the pairs' bits, and what each matrix has once. Entropy coded, an
 * estimate for weights that are about normal.
 */
export function latticeBytes(form: LatticeForm, shapes: readonly LinearShape[]): number {
  const bits = form.entropy_coded ? 2 * codedBits(Math.sqrt(form.lattice_points)) : pairBits(form);
  return shapes.reduce((sum, { out_features, in_features, count }) => {
    const pairs = Math.ceil(out_features * in_features / 2);
    return sum + count * (Math.ceil(pairs * bits / 8) + MATRIX_BYTES);
  }, 0);
}

/** Pare's own layout, which no other library reads. */
export default defineForm({
  name: "lattice",
  summary: "Of each pair of weights the number of a point in a plane",
});
