import { defineForm, type LinearShape, type StoredForm } from "../../core/mod.ts";

/** Blocks of weights as seeds of a shift register with a few coefficients. */
export interface SeedsForm extends StoredForm {
  readonly form: "seeds";
  readonly seed_bits: number;
  /** Weights of a row that lie side by side and share a seed. */
  readonly block_weights: number;
  readonly coefficients: number;
}

/** Bits of a block's exponent, and of each of its coefficients. */
const NIBBLE = 4;
/** A matrix's scale, what its blocks are made of, and its shape. */
const MATRIX_BYTES = 4 + 4 + 16;

/** Bits that a block takes. */
export function blockBits({ seed_bits, coefficients }: Omit<SeedsForm, "form">): number {
  return seed_bits + NIBBLE + NIBBLE * coefficients;
}

/** Bytes of matrices in this form: the blocks' bits, and what each matrix has once. */
export function seedsBytes(form: SeedsForm, shapes: readonly LinearShape[]): number {
  return shapes.reduce((sum, { out_features, in_features, count }) => {
    const blocks = out_features * in_features / form.block_weights;
    return sum + count * (Math.ceil(blocks * blockBits(form) / 8) + MATRIX_BYTES);
  }, 0);
}

/** Pare's own layout, which no other library reads. */
export default defineForm({
  name: "seeds",
  summary: "Of each block of weights the seed of a shift register and a few coefficients",
});
