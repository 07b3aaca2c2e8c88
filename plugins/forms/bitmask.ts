import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Which weights are zero, a bit each, and the others in float16. */
export interface BitmaskForm extends StoredForm {
  readonly form: "bitmask";
  /** Share of the weights that is zero, of the whole part. */
  readonly sparsity: number;
}

const VALUE_BITS = 16;
const BYTES_A_DIMENSION = 8;

/** Bytes of matrices in this form: a bit for every weight, the values that are left, the shape. */
export function bitmaskBytes({ sparsity }: BitmaskForm, shapes: readonly LinearShape[]): number {
  return shapes.reduce((sum, { out_features, in_features, count }) => {
    const weights = out_features * in_features;
    const bits = weights * (1 + (1 - sparsity) * VALUE_BITS);
    return sum + count * (bits / 8 + 2 * BYTES_A_DIMENSION);
  }, 0);
}

/** Pare's own layout, which no other library reads. */
export default defineForm({
  name: "bitmask",
  summary: "A bit for each weight and, of those that are not zero, the value in float16",
});
